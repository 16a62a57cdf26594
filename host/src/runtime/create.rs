//! Creation of topics: the manifests of all lanes first, the record last. Whoever sees the record finds all
//! manifests; a crash in between leaves manifests of an id that nobody knows.

use super::api::TopicSpec;
use super::host::Host;
use crate::config::{self, MAX_PARTITIONS, TopicSettings};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Topic;
use crate::log::lane::Lane;
use crate::metadata::TopicRecord;
use crate::types::{TopicId, TopicName};

/// Lanes of a topic whose settings do not say, at most.
const DEFAULT_LANES: u32 = 4;

pub(super) async fn create(host: &Host, spec: TopicSpec) -> Result<TopicRecord> {
    let (record, settings) = plan(host, spec).await?;
    let topic = Topic::new(record.id, record.name.clone(), record.partitions, record.lanes, settings);
    Lane::create_all(&host.shared, &topic).await?;
    host.metadata.create_topic(&record).await.map_err(|e| if e.kind() == ErrorKind::AlreadyExists { exists(&record.name) } else { e })?;
    host.topics.add(record.clone());
    Ok(record)
}

/// What a creation would store, all checks done.
pub(super) async fn plan(host: &Host, spec: TopicSpec) -> Result<(TopicRecord, TopicSettings)> {
    host.gate.writable()?;
    let settings = config::resolve(&host.settings, &spec.name, &spec.config)?;
    if host.metadata.topic(&spec.name).await?.is_some() {
        return Err(exists(&spec.name));
    }
    let partitions = spec.partitions.unwrap_or(settings.partitions);
    let lanes = lanes_of(spec.lanes.unwrap_or(settings.lanes), partitions);
    check_counts(&spec.name, partitions, lanes)?;
    let record = TopicRecord {
        id: TopicId(host.shared.env.uuid()),
        name: spec.name,
        partitions,
        lanes,
        config: spec.config,
        annotations: spec.annotations,
        created_ms: host.shared.env.unix_ms(),
        revision: 0,
    };
    Ok((record, settings))
}

fn lanes_of(asked: u32, partitions: u32) -> u32 {
    if asked == 0 { partitions.min(DEFAULT_LANES) } else { asked }
}

fn check_counts(name: &TopicName, partitions: u32, lanes: u32) -> Result<()> {
    let problem = if !(1..=MAX_PARTITIONS).contains(&partitions) {
        format!("{partitions} partitions asked, 1 to {MAX_PARTITIONS} are possible")
    } else if lanes > partitions {
        format!("{lanes} lanes asked for {partitions} partitions, at most one for each is possible")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidInput, format!("topic {name}: {problem}")))
}

fn exists(name: &TopicName) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("topic {name} exists"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_out_of_bounds_are_refused() {
        let name = TopicName::new("t").unwrap();
        assert_eq!(lanes_of(0, 2), 2);
        assert_eq!(lanes_of(0, 256), DEFAULT_LANES);
        assert_eq!(lanes_of(9, 256), 9);
        for (partitions, lanes) in [(0, 0), (MAX_PARTITIONS + 1, 4), (2, 3)] {
            assert_eq!(check_counts(&name, partitions, lanes).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
        check_counts(&name, MAX_PARTITIONS, 1).unwrap();
    }
}
