//! The kinds of stored objects, by their first bytes, as JSON.

use serde_json::{Value, json};
use tidegate::catalog::{Coverage, Manifest, Page, PageRef, ProducerStates, SliceEntry, decode_snapshot};
use tidegate::segment::{self, FooterError, FormatError, Header, LogObjectKind, SliceMeta, read_footer};

/// What an object is.
pub(super) enum Stored {
    LogObject,
    SegmentV1,
    Manifest,
    Page,
    Snapshot,
}

impl Stored {
    /// By magic, and for segments by version.
    fn of(bytes: &[u8]) -> Result<Self, FormatError> {
        match (bytes.get(..4), bytes.get(4..6)) {
            (Some(b"KAFS"), Some([0, 1])) => Ok(Self::SegmentV1),
            (Some(b"KAFS"), _) => Ok(Self::LogObject),
            (Some(b"KAFM"), _) => Ok(Self::Manifest),
            (Some(b"KAFP"), _) => Ok(Self::Page),
            (Some(b"KAFD"), _) => Ok(Self::Snapshot),
            _ => {
                let start = bytes[..bytes.len().min(4)].escape_ascii();
                let problem =
                    format!("starts with \"{start}\", expected KAFS (segment, fence), KAFM (manifest), KAFP (page) or KAFD (snapshot)");
                Err(FormatError::damaged("object", 0, problem))
            }
        }
    }

    /// What it says of itself.
    pub(super) fn inspect(bytes: &[u8]) -> Result<Value, FormatError> {
        Ok(match Self::of(bytes)? {
            Self::LogObject => log_object(bytes)?,
            Self::SegmentV1 => segment_v1(bytes)?,
            Self::Manifest => manifest(&Manifest::decode(bytes)?),
            Self::Page => page(&Page::decode(bytes)?),
            Self::Snapshot => json!({ "type": "producer snapshot", "appends": decode_snapshot(bytes)?.len() }),
        })
    }
}

/// Checks all of it. Everything but a segment is checked by being decoded.
pub(super) fn verified(bytes: &[u8]) -> Result<Value, FormatError> {
    let kind = Stored::of(bytes)?;
    let mut found = Stored::inspect(bytes)?;
    if let Stored::LogObject = kind {
        let checked = segment::verify(bytes)?;
        found = json!({ "type": found["type"], "slices": checked.footer.slices.len(), "records": checked.records, "bytes": bytes.len() });
    }
    found["verified"] = true.into();
    Ok(found)
}

fn log_object(bytes: &[u8]) -> Result<Value, FormatError> {
    let header = Header::decode(bytes)?;
    let footer = read_footer(bytes, bytes.len() as u64).map_err(|e| match e {
        FooterError::Format(e) => e,
        FooterError::NeedMore { tail_len } => FormatError::damaged("footer", 0, format!("it needs {tail_len} bytes, the object has fewer")),
    })?;
    let id = header.identity;
    Ok(json!({
        "type": match header.kind { LogObjectKind::Segment => "segment", LogObjectKind::Fence => "fence" },
        "version": 2,
        "topic": id.topic,
        "lane": id.lane,
        "slot": id.slot,
        "epoch": id.epoch,
        "nonce": id.nonce.to_string(),
        "created_ms": header.created_ms,
        "body_bytes": header.body_len,
        "body_crc32": hex(header.body_crc32),
        "object_bytes": bytes.len(),
        "slices": footer.slices.iter().map(slice).collect::<Vec<_>>(),
        "producer_appends": footer.producers.len(),
    }))
}

fn segment_v1(bytes: &[u8]) -> Result<Value, FormatError> {
    let segment = segment::v1::read(bytes)?;
    Ok(json!({
        "type": "segment",
        "version": 1,
        "base_offset": segment.base_offset,
        "last_offset": segment.last_offset,
        "records": segment.record_count,
        "batches": segment.batches.len(),
        "created_ms": segment.created_ms,
        "object_bytes": bytes.len(),
    }))
}

fn slice(slice: &SliceMeta) -> Value {
    json!({
        "partition": slice.partition,
        "base_offset": slice.base_offset,
        "next_offset": slice.next_offset,
        "position": slice.position,
        "bytes": slice.len,
        "batches": slice.batch_count,
        "first_timestamp_ms": slice.first_timestamp,
        "max_timestamp_ms": slice.max_timestamp,
        "crc32": hex(slice.crc32),
        "index_position": slice.index_position,
        "index_bytes": slice.index_len,
    })
}

fn manifest(manifest: &Manifest) -> Value {
    let partition = |p: &tidegate::catalog::PartitionState| json!({ "partition": p.partition, "log_start": p.log_start, "next_offset": p.next_offset, "total_bytes": p.total_bytes });
    json!({
        "type": "manifest",
        "topic": manifest.topic,
        "lane": manifest.lane,
        "epoch": manifest.epoch,
        "nonce": manifest.nonce.to_string(),
        "counter": manifest.counter,
        "checkpoint": manifest.checkpoint,
        "tombstone": manifest.tombstone,
        "fences": manifest.fences,
        "partitions": manifest.partitions.iter().map(partition).collect::<Vec<_>>(),
        "pages": manifest.pages.iter().map(page_ref).collect::<Vec<_>>(),
        "producers": match &manifest.producers {
            ProducerStates::Inline(appends) => json!({ "inline": appends.len() }),
            ProducerStates::Snapshot(snapshot) => json!({ "snapshot": format!("{snapshot:?}") }),
        },
    })
}

fn page(page: &Page) -> Value {
    let (level, entries): (_, Vec<Value>) = match page {
        Page::Leaf(slices) => ("leaf", slices.iter().map(slice_entry).collect()),
        Page::Node(pages) => ("node", pages.iter().map(page_ref).collect()),
    };
    json!({ "type": "catalog page", "level": level, "coverage": page.coverage().iter().map(coverage).collect::<Vec<_>>(), "entries": entries })
}

fn slice_entry(entry: &SliceEntry) -> Value {
    json!({ "slot": entry.slot, "epoch": entry.epoch, "prior_bytes": entry.prior_bytes, "slice": slice(&entry.slice) })
}

fn page_ref(page: &PageRef) -> Value {
    json!({
        "level": page.level,
        "first_slot": page.first_slot,
        "end_slot": page.end_slot,
        "epoch": page.epoch,
        "nonce": page.nonce.to_string(),
        "coverage": page.coverage.iter().map(coverage).collect::<Vec<_>>(),
    })
}

fn coverage(c: &Coverage) -> Value {
    json!({ "partition": c.partition, "base_offset": c.base_offset, "next_offset": c.next_offset, "max_timestamp_ms": c.max_timestamp })
}

fn hex(crc32: u32) -> String {
    format!("{crc32:#010x}")
}
