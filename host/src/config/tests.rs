use std::path::Path;

use super::*;
use crate::error::ErrorKind;

fn load(text: &str) -> Result<Settings> {
    SettingsFile::new("tidegate.toml", text).settings()
}

fn refusal(text: &str) -> String {
    let error = load(text).expect_err(text);
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    error.message().to_owned()
}

#[test]
fn the_defaults_are_within_their_bounds() {
    Settings::default().validate().unwrap();
    assert_eq!(load("").unwrap(), Settings::default());
}

#[test]
fn a_full_file_is_read() {
    let settings = load(
        r#"
        [store]
        kind = "s3"
        bucket = "logs"
        prefix = "clusters/a"
        endpoint = "http://127.0.0.1:8333"

        [host]
        cache_bytes = 1_048_576

        [policy]
        directory = "plugins"

        [topic_defaults]
        partitions = 8

        [[topic]]
        pattern = "audit-*"
        retention_ms = -1

        [[binding]]
        pattern = "*"
        kind = "flush"
        plugin = "flush_adaptive"
        config = { target_ms = 50 }

        [admin]
        listen = "0.0.0.0:9644"
        token = "0123456789abcdef"
        "#,
    )
    .unwrap();
    let StoreSettings::S3(s3) = &settings.store else { panic!("{:?}", settings.store) };
    assert_eq!((s3.bucket.as_str(), s3.prefix.as_str(), s3.tries), ("logs", "clusters/a", 5));
    assert_eq!(settings.host.cache_bytes, 1 << 20);
    assert_eq!(settings.bindings[0].config["target_ms"].as_integer(), Some(50));
}

#[test]
fn a_mistake_is_named_by_file_line_and_key() {
    let cases = [
        ("[host]\ncache_bytes = \"much\"", "tidegate.toml:2: `cache_bytes = \"much\"`: invalid type"),
        ("[host]\n\ncash_bytes = 1", "tidegate.toml:3: `cash_bytes = 1`: unknown field `cash_bytes`"),
        ("[host]\nchunk_bytes = 1", "tidegate.toml:2: host.chunk_bytes is 1, expected 4096 to 67108864"),
        ("[store]\nkind = \"tape\"", "unknown variant `tape`"),
        ("[store]\nkind = \"s3\"", "tidegate.toml:1: store.bucket is \"\""),
        ("[hots]\n", "unknown field `hots`"),
        ("[host\n", "tidegate.toml:1: "),
        ("[[topic]]\npattern = \"a\"\n[[topic]]\npattern = \"b\"\nlanes = 2\n", "tidegate.toml:5: topic[1].lanes is 2"),
        ("[[topic]]\npattern = \"[\"\n", "tidegate.toml:2: topic[0].pattern invalid pattern"),
        ("[topic_defaults]\nmax_segment_bytes = 268435457", "tidegate.toml:2: topic_defaults.max_segment_bytes is 268435457"),
        ("[host]\nuploads_per_lane = 65", "host.uploads_per_lane is 65, expected 1 to 64"),
        ("[policy]\nstack_bytes = 2097152", "policy.stack_bytes is 2097152"),
        ("[admin]\nlisten = \"0.0.0.0:1\"", "tidegate.toml:2: admin.listen is 0.0.0.0:1"),
        ("[admin]\ntoken = \"short\"", "admin.token must have at least 16"),
        ("[store]\nkind = \"s3\"\nbucket = \"logs\"\nprefix = \"../x\"", "store.prefix is \"../x\""),
        ("[store]\nkind = \"s3\"\nbucket = \"logs\"\naccess_key = \"x\"", "go together"),
        ("[[binding]]\npattern = \"*\"\nkind = \"flush\"\nplugin = \"\"", "binding[0].plugin is empty"),
        (
            "[[binding]]\npattern = \"*\"\nkind = \"flush\"\nplugin = \"x\"\ndigest = \"sha256:12\"",
            "tidegate.toml:5: binding[0].digest is \"sha256:12\": expected",
        ),
        (
            "[[plugins.trust]]\nname = \"ops\"\nkey = \"k\"\n[[plugins.trust]]\nname = \"ops\"\nkey = \"l\"",
            "tidegate.toml:5: plugins.trust[1].name is",
        ),
    ];
    for (text, expected) in cases {
        let message = refusal(text);
        assert!(message.contains(expected), "{text:?}: {expected:?} is missing in {message:?}");
    }
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let message = refusal("[host]\nchunk_bytes = 1\nuploads_per_lane = 0\n[topic_defaults]\npartitions = 0\n");
    assert_eq!(message.lines().count(), 3, "{message}");
}

#[test]
fn a_section_of_the_embedder_is_its_own() {
    #[derive(Default, Debug, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Broker {
        port: u16,
    }
    let mut file = SettingsFile::new("f", "[broker]\nport = 9092\n[host]\nchunk_bytes = 8192\n");
    assert_eq!(file.take::<Broker>("broker").unwrap(), Broker { port: 9092 });
    assert_eq!(file.settings().unwrap().host.chunk_bytes, 8192);

    let mut wrong = SettingsFile::new("f", "\n[broker]\nprot = 9092\n");
    let message = wrong.take::<Broker>("broker").unwrap_err().message().to_owned();
    assert!(message.starts_with("f:3: `prot = 9092`"), "{message}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Settings::load(Path::new("/no/such/tidegate.toml")).unwrap_err();
    assert!(error.message().contains("/no/such/tidegate.toml"), "{error}");
}

#[test]
fn no_more_of_a_file_is_read_than_its_bound() {
    let error = Settings::load(Path::new("/dev/zero")).unwrap_err();
    assert!(error.message().contains("\"/dev/zero\" has more than 4194304 bytes"), "{error}");
}

proptest::proptest! {
    #[test]
    fn any_text_is_settings_or_refused(text in "\\PC{0,200}") {
        let _ = load(&text);
    }
}
