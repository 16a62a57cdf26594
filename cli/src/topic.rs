//! `tidegate topic`.

use std::collections::BTreeMap;

use anyhow::Result;
use tidegate::admin::api::{CreateTopic, TopicDetail};
use tidegate::metadata::TopicRecord;
use tidegate::types::TopicName;

use crate::args::{TopicArgs, TopicCommand};
use crate::client::Admin;
use crate::failure::Usage;
use crate::output::{Output, table};

pub(crate) fn run(args: TopicArgs, output: &Output) -> Result<()> {
    let admin = Admin::new(&args.admin)?;
    match args.command {
        TopicCommand::Create { name, partitions, lanes, settings } => {
            let name = TopicName::new(name).map_err(|e| Usage(e.to_string()))?;
            let topic = admin.create_topic(&CreateTopic { name, partitions, lanes, config: config_of(&settings)? })?;
            output.answer(&topic, |t| format!("created {} with {} partitions in {} lanes, id {}", t.name, t.partitions, t.lanes, t.id))
        }
        TopicCommand::List => output.answer(&admin.topics()?, |list| listing(&list.topics)),
        TopicCommand::Describe { name } => output.answer(&admin.topic(&name)?, description),
        TopicCommand::Delete { name } => {
            admin.delete_topic(&name)?;
            output.answer(&serde_json::json!({ "deleted": name }), |_| format!("deleted {name}"))
        }
    }
}

fn config_of(settings: &[String]) -> Result<BTreeMap<String, String>> {
    let split = |setting: &String| match setting.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(Usage(format!("--set {setting:?}: expected KEY=VALUE")).into()),
    };
    settings.iter().map(split).collect()
}

fn listing(topics: &[TopicRecord]) -> String {
    let row = |t: &TopicRecord| [t.name.to_string(), t.partitions.to_string(), t.lanes.to_string(), t.id.to_string()];
    table(["NAME", "PARTITIONS", "LANES", "ID"], &topics.iter().map(row).collect::<Vec<_>>())
}

fn description(topic: &TopicDetail) -> String {
    let record = &topic.record;
    let mut text = format!("{}: {} partitions in {} lanes, id {}\n\n", record.name, record.partitions, record.lanes, record.id);
    text += &settings_table(topic);
    let row = |o: &tidegate::admin::api::OpenPartition| [o.partition.to_string(), o.log_start.to_string(), o.high_watermark.to_string()];
    if topic.open_partitions.is_empty() {
        text += "\n\nno partition is open on this broker";
    } else {
        text += "\n\n";
        text += &table(["PARTITION", "LOG START", "HIGH WATERMARK"], &topic.open_partitions.iter().map(row).collect::<Vec<_>>());
    }
    text
}

fn settings_table(topic: &TopicDetail) -> String {
    let value = serde_json::to_value(&topic.settings).unwrap_or_default();
    let own = |key: &str| if topic.record.config.contains_key(key) { "this topic" } else { "broker" };
    let row = |(key, value): (&String, &serde_json::Value)| [key.clone(), value.to_string(), own(key).to_owned()];
    let rows: Vec<_> = value.as_object().into_iter().flatten().map(row).collect();
    table(["SETTING", "VALUE", "FROM"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_keys_and_values() {
        let config = config_of(&["a=1".into(), "b=x=y".into(), "c=".into()]).unwrap();
        assert_eq!(config.into_iter().collect::<Vec<_>>(), [("a", "1"), ("b", "x=y"), ("c", "")].map(|(k, v)| (k.into(), v.into())));
        for wrong in ["a", "=1", ""] {
            assert!(config_of(&[wrong.into()]).unwrap_err().is::<Usage>(), "{wrong:?}");
        }
    }
}
