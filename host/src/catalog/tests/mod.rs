use proptest::prelude::*;

use super::*;
use crate::codec::{FormatErrorKind, Writer};
use crate::segment::ProducerAppend;
use crate::types::TopicId;

mod fixtures;

fn any_slice() -> impl Strategy<Value = SliceMeta> {
    let offsets = (0i64..1 << 61, 1i64..1 << 61);
    let positions = (0u64..1 << 60, 61u64..1 << 40, 1u32..100, 0u64..1 << 60, 60u32..);
    let rest = (any::<u32>(), any::<i64>(), any::<i64>(), any::<u32>());
    (offsets, positions, rest).prop_map(
        |((base_offset, count), (position, len, batches, index_position, index_len), (partition, first, max, crc32))| SliceMeta {
            partition,
            base_offset,
            next_offset: base_offset + count,
            position,
            len: len.max(61 * u64::from(batches)),
            batch_count: batches,
            first_timestamp: first,
            max_timestamp: max,
            crc32,
            index_position,
            index_len,
        },
    )
}

fn any_leaf() -> impl Strategy<Value = Page> {
    let entry = (0u64..u64::MAX, any::<u32>(), any_slice(), any::<u64>());
    proptest::collection::vec(entry, 0..20).prop_map(|entries| {
        let mut slices: Vec<_> =
            entries.into_iter().map(|(slot, epoch, slice, prior_bytes)| SliceEntry { slot, epoch, slice, prior_bytes }).collect();
        slices.sort_by_key(|entry| (entry.slot, entry.slice.partition));
        slices.dedup_by_key(|entry| (entry.slot, entry.slice.partition));
        Page::Leaf(slices)
    })
}

fn any_refs() -> impl Strategy<Value = Vec<PageRef>> {
    let coverage = proptest::collection::btree_map(any::<u32>(), (0i64..1 << 61, 1i64..1 << 61, any::<i64>()), 0..6);
    let page = (any::<u8>(), 0u64..1 << 50, 1u64..1 << 50, any::<u32>(), any::<u128>(), coverage);
    proptest::collection::vec(page, 0..8).prop_map(|pages| {
        let mut slot = 0;
        let page = pages.into_iter().map(|(level, gap, slots, epoch, nonce, coverage)| {
            let first_slot = slot + gap;
            slot = first_slot + slots;
            let coverage = coverage.into_iter().map(|(partition, (base_offset, records, max_timestamp))| {
                let next_offset: i64 = base_offset + records;
                Coverage { partition, base_offset, next_offset, max_timestamp }
            });
            PageRef { level, first_slot, end_slot: slot, epoch, nonce: Nonce(nonce), coverage: coverage.collect() }
        });
        page.collect()
    })
}

fn any_appends() -> impl Strategy<Value = Vec<ProducerAppend>> {
    let append = (any::<(u32, i64, i16, i32, i32)>(), 0i64..).prop_map(|((partition, id, epoch, first, last), base_offset)| {
        ProducerAppend { partition, producer_id: id, producer_epoch: epoch, first_sequence: first, last_sequence: last, base_offset }
    });
    proptest::collection::vec(append, 0..10)
}

fn any_producers() -> impl Strategy<Value = ProducerStates> {
    let snapshot = any::<(u64, u32, u128)>()
        .prop_map(|(checkpoint, epoch, nonce)| ProducerStates::Snapshot(SnapshotRef { checkpoint, epoch, nonce: Nonce(nonce) }));
    prop_oneof![any_appends().prop_map(ProducerStates::Inline), snapshot]
}

fn any_manifest() -> impl Strategy<Value = Manifest> {
    let partitions = proptest::collection::btree_map(any::<u32>(), (0i64.., 0i64.., any::<u64>()), 0..10);
    let fences = proptest::collection::btree_set(any::<u64>(), 0..10);
    let head = any::<(u128, u32, u128, u64, u32, u64, bool)>();
    (head, partitions, fences, any_refs(), any_producers()).prop_map(
        |((topic, lane, nonce, counter, epoch, checkpoint, tombstone), partitions, fences, pages, producers)| Manifest {
            topic: TopicId(uuid::Uuid::from_u128(topic)),
            lane,
            nonce: Nonce(nonce),
            counter,
            epoch,
            checkpoint,
            tombstone,
            partitions: partitions
                .into_iter()
                .map(|(partition, (log_start, next_offset, total_bytes))| PartitionState { partition, log_start, next_offset, total_bytes })
                .collect(),
            fences: fences.into_iter().collect(),
            pages,
            producers,
        },
    )
}

fn empty_manifest() -> Manifest {
    Manifest {
        topic: TopicId(uuid::Uuid::nil()),
        lane: 0,
        nonce: Nonce(1),
        counter: 0,
        epoch: 0,
        checkpoint: 0,
        tombstone: false,
        partitions: Vec::new(),
        fences: Vec::new(),
        pages: Vec::new(),
        producers: ProducerStates::default(),
    }
}

/// A log of many segments as it really looks: pages follow each other, each partition grows at its own pace.
fn pages(count: u64, partitions: u32) -> Vec<PageRef> {
    let page = |i: u64| PageRef {
        level: u8::from(i < 63),
        first_slot: 1024 * i,
        end_slot: 1024 * (i + 1),
        epoch: 12,
        nonce: Nonce(u128::MAX / 3 + u128::from(i)),
        coverage: (0..partitions)
            .map(|p| {
                let records = 1_000_003 * i64::from(p + 1);
                let base_offset = records * i as i64;
                Coverage {
                    partition: p,
                    base_offset,
                    next_offset: base_offset + records,
                    max_timestamp: 1_790_000_000_000 + 977_777 * i as i64,
                }
            })
            .collect(),
    };
    (0..count).map(page).collect()
}

#[test]
fn a_manifest_of_126_pages_of_64_partitions_stays_well_under_its_limit() {
    let manifest = Manifest { pages: pages(126, 64), fences: (0..1000).map(|i| i * 1000).collect(), ..empty_manifest() };
    let len = manifest.encode().len();
    assert!(len < MAX_MANIFEST_BYTES / 2, "{len} bytes");
}

#[test]
fn a_page_covers_what_its_slices_and_pages_cover() {
    let all = pages(3, 2);
    let node = Page::Node(all);
    let covered = Coverage { partition: 1, base_offset: 0, next_offset: 6 * 1_000_003, max_timestamp: 1_790_000_000_000 + 2 * 977_777 };
    assert_eq!((node.coverage().len(), node.coverage()[1]), (2, covered));
    assert_eq!((node.slots(), Page::Leaf(Vec::new()).slots()), (Some(0..3072), None));
    let slice = |slot, base_offset, max_timestamp| SliceEntry {
        slot,
        epoch: 1,
        prior_bytes: 0,
        slice: SliceMeta {
            partition: 4,
            base_offset,
            next_offset: base_offset + 10,
            position: 80,
            len: 100,
            batch_count: 1,
            first_timestamp: 1,
            max_timestamp,
            crc32: 0,
            index_position: 180,
            index_len: 60,
        },
    };
    let leaf = Page::Leaf(vec![slice(8, 50, 99), slice(9, 60, 7)]);
    assert_eq!(leaf.coverage(), [Coverage { partition: 4, base_offset: 50, next_offset: 70, max_timestamp: 99 }]);
    assert_eq!(leaf.slots(), Some(8..10));
}

#[test]
fn a_newer_version_is_told_from_damage() {
    let mut bytes = empty_manifest().encode().to_vec();
    bytes[5] = 2;
    assert_eq!(Manifest::decode(&bytes).unwrap_err().kind, FormatErrorKind::Damaged);
    let end = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..end]).to_be_bytes();
    bytes[end..].copy_from_slice(&crc);
    let error = Manifest::decode(&bytes).unwrap_err();
    assert_eq!(error.kind, FormatErrorKind::NewerVersion);
    assert!(error.problem.contains("use a newer version"), "{error}");
    let mut w = Writer::open(b"KAFP", 9);
    w.u16(0);
    assert_eq!(Page::decode(&w.close()).unwrap_err().kind, FormatErrorKind::NewerVersion);
    assert_eq!(Page::decode(&empty_manifest().encode()).unwrap_err().kind, FormatErrorKind::Damaged, "another object");
}

#[test]
#[should_panic(expected = "reads back")]
fn a_manifest_that_could_not_be_read_again_is_never_written() {
    Manifest { fences: vec![5, 5], ..empty_manifest() }.encode();
}

#[test]
fn partitions_are_found_by_number_and_unnamed_ones_start_at_zero() {
    let state = PartitionState { partition: 8, log_start: 5, next_offset: 9, total_bytes: 100 };
    let manifest = Manifest { partitions: vec![PartitionState { partition: 2, ..state }, state], ..empty_manifest() };
    assert_eq!(manifest.partition(8), state);
    assert_eq!(manifest.partition(3), PartitionState { partition: 3, ..PartitionState::default() });
}

#[test]
fn huge_counts_with_a_right_crc_allocate_nothing() {
    for kind in [0, 1] {
        let mut w = Writer::open(b"KAFP", 1);
        w.u16(kind).uvarint(u64::MAX / 2);
        assert!(Page::decode(&w.close()).unwrap_err().problem.contains("hold at most 0"));
    }
}

fn flip_is_seen(bytes: &[u8], bit: prop::sample::Index, decodes: impl Fn(&[u8]) -> bool) -> bool {
    let bit = bit.index(bytes.len() * 8);
    let mut flipped = bytes.to_vec();
    flipped[bit / 8] ^= 1 << (bit % 8);
    decodes(bytes) && !decodes(&flipped)
}

proptest! {
    #[test]
    fn leaves_round_trip_and_no_flip_goes_unseen(page in any_leaf(), bit: prop::sample::Index) {
        let bytes = page.encode();
        prop_assert_eq!(&Page::decode(&bytes).unwrap(), &page);
        prop_assert!(flip_is_seen(&bytes, bit, |bytes| Page::decode(bytes).is_ok()));
    }

    #[test]
    fn nodes_round_trip_and_no_flip_goes_unseen(pages in any_refs(), bit: prop::sample::Index) {
        let page = Page::Node(pages);
        let bytes = page.encode();
        prop_assert_eq!(&Page::decode(&bytes).unwrap(), &page);
        prop_assert!(flip_is_seen(&bytes, bit, |bytes| Page::decode(bytes).is_ok()));
    }

    #[test]
    fn manifests_round_trip_and_no_flip_goes_unseen(manifest in any_manifest(), bit: prop::sample::Index) {
        let bytes = manifest.encode();
        prop_assert_eq!(&Manifest::decode(&bytes).unwrap(), &manifest);
        prop_assert!(flip_is_seen(&bytes, bit, |bytes| Manifest::decode(bytes).is_ok()));
    }

    #[test]
    fn snapshots_round_trip_and_no_flip_goes_unseen(appends in any_appends(), bit: prop::sample::Index) {
        let bytes = encode_snapshot(&appends);
        prop_assert_eq!(&decode_snapshot(&bytes).unwrap(), &appends);
        prop_assert!(flip_is_seen(&bytes, bit, |bytes| decode_snapshot(bytes).is_ok()));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = (Page::decode(&bytes), Manifest::decode(&bytes), decode_snapshot(&bytes));
        for (magic, kind) in [(b"KAFP", 0), (b"KAFP", 1), (b"KAFM", 0), (b"KAFD", 0)] {
            let mut w = Writer::open(magic, 1);
            w.u16(kind).put(&bytes);
            let framed = w.close();
            let page = Page::decode(&framed).map(|page| (page.coverage(), page.slots()));
            let _ = (page, Manifest::decode(&framed), decode_snapshot(&framed));
        }
    }
}
