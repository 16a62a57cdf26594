use uuid::Uuid;

use super::*;

fn record(name: &str, id: u128) -> TopicRecord {
    TopicRecord {
        id: TopicId(Uuid::from_u128(id)),
        name: TopicName::new(name).unwrap(),
        partitions: 4,
        lanes: 2,
        config: BTreeMap::new(),
        annotations: BTreeMap::new(),
        created_ms: 0,
        revision: 0,
    }
}

fn names(directory: &Directory) -> Vec<(&str, u128)> {
    directory.by_name.iter().map(|(name, id)| (name.as_str(), id.0.as_u128())).collect()
}

#[test]
fn a_listing_brings_new_topics_and_takes_away_gone_ones() {
    let settings = Settings::default();
    let mut directory = Directory::default();
    directory.merge(vec![record("a", 1), record("b", 2)], 0, &settings);
    let since = directory.changes;
    let gone = directory.merge(vec![record("b", 2), record("c", 3)], since, &settings);
    assert_eq!(names(&directory), [("b", 2), ("c", 3)]);
    assert_eq!(gone, [TopicId(Uuid::from_u128(1))]);
}

#[test]
fn a_listing_that_began_earlier_undoes_neither_creation_nor_deletion() {
    let settings = Settings::default();
    let mut directory = Directory::default();
    directory.put(record("old", 1), &settings);
    let since = directory.changes;
    directory.put(record("new", 2), &settings);
    directory.changes += 1;
    let at = directory.changes;
    directory.deleted.insert(TopicId(Uuid::from_u128(1)), at);
    directory.drop_topic(TopicId(Uuid::from_u128(1)));
    let gone = directory.merge(vec![record("old", 1)], since, &settings);
    assert_eq!(names(&directory), [("new", 2)]);
    assert!(gone.is_empty());
}

#[test]
fn a_name_created_again_is_another_topic() {
    let settings = Settings::default();
    let mut directory = Directory::default();
    directory.put(record("a", 1), &settings);
    let gone = directory.merge(vec![record("a", 2)], 1, &settings);
    assert_eq!(names(&directory), [("a", 2)]);
    assert_eq!(gone, [TopicId(Uuid::from_u128(1))]);
    assert_eq!(directory.by_id.len(), 1);
}

#[test]
fn changed_config_reaches_the_topic_that_lanes_hold() {
    let settings = Settings::default();
    let mut directory = Directory::default();
    let held = directory.put(record("a", 1), &settings).topic.clone();
    let mut changed = record("a", 1);
    changed.config.insert("retention_ms".into(), "1234".into());
    directory.merge(vec![changed], 1, &settings);
    assert_eq!(held.settings.load().retention_ms, 1234);
}

#[test]
fn a_listing_that_began_before_a_change_does_not_undo_it() {
    let settings = Settings::default();
    let mut directory = Directory::default();
    let held = directory.put(record("a", 1), &settings).topic.clone();
    let since = directory.changes;
    let grown = TopicRecord { partitions: 9, revision: 1, ..record("a", 1) };
    directory.put(grown.clone(), &settings);
    directory.merge(vec![record("a", 1)], since, &settings);
    assert_eq!(directory.by_id[&grown.id].record, grown);
    assert_eq!(held.partitions(), 9, "the topic that lanes hold has grown");
}

#[test]
fn a_config_that_is_not_understood_deletes_nothing_and_leaves_the_rest_in_force() {
    let settings = Settings::default();
    let mut directory = Directory::default();
    let mut newer = record("a", 1);
    for (key, value) in [("retention_ms", "60000"), ("of_a_newer_version", "1"), ("max_age_ms", "7")] {
        newer.config.insert(key.to_owned(), value.to_owned());
    }
    let known = directory.put(newer, &settings);
    let settings = known.topic.settings.load();
    assert_eq!((settings.max_age_ms, settings.retention_ms), (7, 60_000));
    assert!(!settings.cleanup_policy.deletes());
}
