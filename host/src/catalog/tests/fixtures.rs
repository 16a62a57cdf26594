//! One small object of every format and version that was ever released, in tests/fixtures/formats. They are read
//! for ever, and never change: whoever makes a new version adds files and leaves these.

use std::path::PathBuf;

use bytes::Bytes;

use super::*;
use crate::policy::{IndexSpacing, UNBOUNDED};
use crate::record::testing::{BatchBuilder, batch, set};
use crate::record::{Compression, batches, check_crc, records};
use crate::segment::{self, Identity, Sealed, SliceInput, v1};

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/formats")).join(name)
}

fn stored(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|e| panic!("fixture {name}: {e}"))
}

fn identity(slot: u64) -> Identity {
    Identity { topic: TopicId(uuid::Uuid::from_u128(0x0102_0304_0506)), lane: 2, slot, epoch: 7, nonce: Nonce(0xfeed_beef) }
}

fn sealed() -> Sealed {
    let slice = |partition, base| {
        let first = batch(3, 40).timestamps(1_700_000_000_000, 250).producer(4_000, 1, 12);
        let sets = vec![
            set(&[first, batch(1, 10).timestamps(1_700_000_001_000, 0)]).assign(base, 7, None),
            set(&[batch(2, 60)]).assign(base + 4, 7, Some(1_700_000_002_000)),
        ];
        SliceInput { partition, sets, spacing: IndexSpacing { bytes: UNBOUNDED, records: 4, time_ms: UNBOUNDED } }
    };
    segment::seal(identity(1_041), 1_700_000_003_000, vec![slice(10, 500), slice(2, 1 << 40)])
}

fn leaf() -> Page {
    let entry = |(i, slice): (usize, &SliceMeta)| SliceEntry { slot: 1_041, epoch: 7, slice: *slice, prior_bytes: 10_000 * (i as u64 + 1) };
    Page::Leaf(sealed().footer.slices.iter().enumerate().map(entry).collect())
}

fn manifest() -> Manifest {
    let state = PartitionState { partition: 2, log_start: 12, next_offset: (1 << 40) + 6, total_bytes: 123_456_789 };
    Manifest {
        topic: identity(0).topic,
        lane: 2,
        nonce: Nonce(0xfeed_beef),
        counter: 41,
        epoch: 7,
        checkpoint: 4_096,
        partitions: vec![state, PartitionState { partition: 10, ..state }],
        fences: vec![0, 1_024, 2_111],
        pages: pages(4, 3),
        producers: ProducerStates::Inline(sealed().footer.producers),
        ..empty_manifest()
    }
}

fn tombstone() -> Manifest {
    let snapshot = SnapshotRef { checkpoint: 4_096, epoch: 7, nonce: Nonce(5) };
    Manifest { tombstone: true, producers: ProducerStates::Snapshot(snapshot), ..empty_manifest() }
}

fn export() -> (Bytes, Bytes) {
    let sealed = sealed();
    v1::write(sealed.slices().nth(1).unwrap(), 1_700_000_003_000, 4).unwrap()
}

/// Every fixture that is written again byte for byte.
fn encoded() -> Vec<(&'static str, Vec<u8>)> {
    let (data, index) = export();
    vec![
        ("segment-v2.kfs", sealed().body.chunks().concat()),
        ("fence-v2.kfs", segment::fence(identity(1_042), 1_700_000_004_000).chunks().concat()),
        ("leaf-v1.bin", leaf().encode().to_vec()),
        ("node-v1.bin", Page::Node(pages(4, 3)).encode().to_vec()),
        ("manifest-v1.bin", manifest().encode().to_vec()),
        ("tombstone-v1.bin", tombstone().encode().to_vec()),
        ("producers-v1.bin", encode_snapshot(&sealed().footer.producers).to_vec()),
        ("export-v1.kfs", data.to_vec()),
        ("export-v1.index", index.to_vec()),
    ]
}

fn of_codec(codec: Compression) -> BatchBuilder {
    batch(5, 300).timestamps(1_700_000_000_000, 1).compression(codec)
}

#[test]
fn the_same_input_gives_the_same_bytes_for_ever() {
    for (name, bytes) in encoded() {
        assert_eq!(stored(name), bytes, "{name}");
    }
}

#[test]
fn objects_of_every_version_are_read_for_ever() {
    let object = stored("segment-v2.kfs");
    let verified = segment::verify(&object).unwrap();
    assert_eq!((verified.footer, verified.indexes, verified.records), (sealed().footer, sealed().indexes, 12));
    let fence = segment::verify(&stored("fence-v2.kfs")).unwrap();
    assert_eq!(fence.footer.header.identity, identity(1_042));
    assert_eq!(Page::decode(&stored("leaf-v1.bin")).unwrap(), leaf());
    assert_eq!(Page::decode(&stored("node-v1.bin")).unwrap(), Page::Node(pages(4, 3)));
    assert_eq!(Manifest::decode(&stored("manifest-v1.bin")).unwrap(), manifest());
    assert_eq!(Manifest::decode(&stored("tombstone-v1.bin")).unwrap(), tombstone());
    assert_eq!(decode_snapshot(&stored("producers-v1.bin")).unwrap(), sealed().footer.producers);
}

#[test]
fn exports_of_version_1_are_read_for_ever() {
    let data = stored("export-v1.kfs");
    let segment = v1::read(&data).unwrap();
    assert_eq!((segment.base_offset, segment.last_offset, segment.record_count), (500, 505, 6));
    let index = v1::Index::decode(&stored("export-v1.index"), 500, data.len() as u64).unwrap();
    assert_eq!(index, v1::Index::rebuild(&segment, 4));
}

#[test]
fn batches_of_every_codec_are_read_for_ever() {
    let bytes = stored("batches.bin");
    let plain = of_codec(Compression::None).build();
    let plain = records(&plain, 1 << 20).unwrap();
    let found: Vec<_> = batches(&bytes).map(Result::unwrap).collect();
    assert_eq!(found.iter().map(|b| b.header.compression()).collect::<Vec<_>>(), Compression::ALL);
    for batch in found {
        let batch_bytes = &bytes[batch.position..batch.end()];
        check_crc(batch_bytes, &batch.header).unwrap();
        let decoded = records(batch_bytes, 1 << 20).unwrap();
        assert!(decoded.iter().map(Result::unwrap).eq(plain.iter().map(Result::unwrap)), "{:?}", batch.header.compression());
    }
}

#[test]
#[ignore = "writes the fixtures that are missing; run it once for a new version, never over an old file"]
fn write_missing_fixtures() {
    let mut all = encoded();
    all.push(("batches.bin", Compression::ALL.map(|codec| of_codec(codec).build().to_vec()).concat()));
    std::fs::create_dir_all(path("")).unwrap();
    for (name, bytes) in all {
        if !path(name).exists() {
            std::fs::write(path(name), bytes).unwrap();
        }
    }
}
