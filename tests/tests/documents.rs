//! docs/operations.md names every setting and every metric there is, and no relative link leads nowhere.

use std::fs;
use std::path::{Path, PathBuf};

use tidegate::Settings;
use tidegate::metrics::Metrics;
use tidegate_broker::BrokerSettings;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace").to_owned()
}

fn operations() -> String {
    fs::read_to_string(workspace().join("docs/operations.md")).expect("the page is there")
}

/// Keys of a table and of the tables in it.
fn keys(table: &toml::Table, found: &mut Vec<String>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => keys(inner, found),
            toml::Value::Array(items) => items.iter().filter_map(|item| item.as_table()).for_each(|inner| keys(inner, found)),
            _ => found.push(key.clone()),
        }
    }
}

#[test]
fn every_setting_is_documented() {
    let page = operations();
    let mut found = Vec::new();
    let s3 = tidegate::config::S3Settings { endpoint: Some(String::new()), access_key: Some(String::new()), ..Default::default() };
    keys(&toml::Table::try_from(s3).unwrap(), &mut found);
    keys(&toml::Table::try_from(Settings::default()).unwrap(), &mut found);
    keys(&toml::Table::try_from(BrokerSettings::default()).unwrap(), &mut found);
    assert!(found.len() > 50, "only {} settings were found", found.len());
    let missing: Vec<&String> = found.iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/operations.md lacks settings: {missing:?}");
}

#[test]
fn every_metric_is_documented() {
    let page = operations();
    let text = Metrics::default().encode();
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next()).collect();
    assert!(names.len() > 20, "only {} metrics were found", names.len());
    let missing: Vec<&&str> = names.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/operations.md lacks metrics: {missing:#?}");
}

#[test]
fn no_link_leads_nowhere() {
    let root = workspace();
    let pages = |folder: &str| fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let all = pages(".").chain(pages("docs")).chain(pages("docs/decisions")).filter(|path| path.extension().is_some_and(|e| e == "md"));
    let mut broken = Vec::new();
    for page in all {
        let text = fs::read_to_string(&page).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let local = targets.filter(|target| !target.is_empty() && !target.contains("://"));
        broken.extend(local.map(|target| page.with_file_name(target)).filter(|target| !target.exists()));
    }
    assert!(broken.is_empty(), "{broken:?}");
}
