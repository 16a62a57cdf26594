//! A policy host, what is bound on it, and what an operator sees of it.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tidegate::config::PolicySettings;
use tidegate::metrics::Metrics;
use tidegate::policy::wasm::{LoadError, LoadedPlugin};
use tidegate::policy::{
    ActiveBinding, Context, FlushBounds, FlushDecision, FlushPolicy, FlushView, IndexPolicy, Kind, Policies, PolicyFault, PolicyHost,
    PolicySource, ReadAheadPolicy, TopicStatus, builtin,
};

use crate::wat::TRIGGER;

/// What the guests answer while they are good.
pub const GOOD: u64 = 5_000;

/// Limits that a busy machine keeps. What is interrupted is told by its class, never by a clock.
pub fn settings() -> PolicySettings {
    PolicySettings { decision_deadline_ms: 200, init_deadline_ms: 10_000, ..PolicySettings::default() }
}

/// A built component, by its name below the folder of plugins.
pub fn built(name: &str) -> Bytes {
    let directory = std::env::var_os("TIDEGATE_PLUGINS").map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/plugins")));
    let path = directory.join(format!("{name}.wasm"));
    let read = std::fs::read(&path);
    read.unwrap_or_else(|error| panic!("{}: {error}; scripts/test.sh builds it with scripts/plugins.sh", path.display())).into()
}

/// The guest of many faces.
pub fn evil() -> Bytes {
    built("evil-guest")
}

/// A view of an empty buffer.
pub fn empty() -> FlushView {
    FlushView::default()
}

/// The view at which guests show themselves.
pub fn trigger() -> FlushView {
    FlushView { buffered_bytes: TRIGGER, ..FlushView::default() }
}

/// The built-in's answer in the default context.
pub fn built_in(view: &FlushView) -> FlushDecision {
    builtin::flush(&Context::default(), view)
}

/// The answer of a guest that is good, as the host's limits leave it.
pub fn good() -> FlushDecision {
    let context = Context::default();
    FlushDecision::Wait(FlushBounds { bytes: GOOD, age_us: context.max_age_us, ..FlushBounds::NONE })
}

/// A policy host whose instances are made in the owner's call.
pub struct Bench {
    pub host: PolicyHost,
    pub metrics: Arc<Metrics>,
    pub faults: Arc<Mutex<Vec<PolicyFault>>>,
}

impl Bench {
    pub fn new(settings: PolicySettings) -> Self {
        let (metrics, faults) = (Arc::new(Metrics::default()), Arc::new(Mutex::new(Vec::new())));
        let seen = faults.clone();
        let sink = Arc::new(move |fault: &PolicyFault| seen.lock().push(fault.clone()));
        Self { host: PolicyHost::inline(settings, metrics.clone(), sink), metrics, faults }
    }

    pub async fn load(&self, component: Bytes) -> Result<Arc<LoadedPlugin>, LoadError> {
        self.host.check_and_load(component).await
    }

    /// Binds a component to all topics.
    pub async fn bind(&self, kind: Kind, component: Bytes, config: Value) {
        let plugin: Arc<dyn PolicySource> = self.load(component).await.expect("it is good while it is tried out");
        self.host.set_bindings(vec![binding(kind, plugin, config)]).expect("the binding is right");
    }

    pub fn flush(&self, topic: &str) -> Box<dyn FlushPolicy> {
        self.flush_of(topic, 1)
    }

    /// Of a topic of so many partitions.
    pub fn flush_of(&self, topic: &str, partitions: u32) -> Box<dyn FlushPolicy> {
        self.host.flush(topic, &Context { topic_partitions: partitions, ..Context::default() })
    }

    pub fn index(&self, topic: &str) -> Box<dyn IndexPolicy> {
        self.host.index(topic, &Context::default())
    }

    pub fn read_ahead(&self, topic: &str) -> Box<dyn ReadAheadPolicy> {
        self.host.read_ahead(topic, &Context::default())
    }

    /// What the one binding shows for a topic.
    pub fn status(&self, topic: &str) -> TopicStatus {
        let status = self.host.status().remove(0);
        status.topics.into_iter().find(|it| it.topic == topic).unwrap_or_else(|| panic!("topic {topic} is not listed"))
    }

    /// Why the one binding is degraded; empty: it is not.
    pub fn degraded(&self) -> String {
        self.host.status().remove(0).degraded
    }

    /// A counter or gauge as it is printed, summed over the series with these labels.
    pub fn metric(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        metric(&self.metrics.encode(), name, labels)
    }
}

/// A binding of a plugin to all topics.
pub fn binding(kind: Kind, plugin: Arc<dyn PolicySource>, config: Value) -> ActiveBinding {
    ActiveBinding { pattern: "*".into(), kind, plugin: Ok(plugin), config, source: "a test".into() }
}

/// A metric of a text in OpenMetrics' format, summed over the series with these labels.
pub fn metric(text: &str, name: &str, labels: &[(&str, &str)]) -> u64 {
    let ours = |line: &&str| {
        let series = line.split_once('{').is_some_and(|(found, _)| found == name);
        series && labels.iter().all(|(key, value)| line.contains(&format!("{key}=\"{value}\"")))
    };
    let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse::<u64>().ok()).expect("a whole number");
    text.lines().filter(ours).map(value).sum()
}

/// The config of the guest of many faces.
pub fn mode(mode: &str) -> Value {
    json!({ "mode": mode })
}

/// Whether a message can be shown: short, and nothing in it moves a cursor or begins a line.
pub fn is_safe(message: &str) -> bool {
    !message.is_empty() && message.len() < 1_024 && !message.contains(char::is_control)
}

/// Whether this is the only test of its process; if not, it is run in one of its own. For what belongs to a process: memory, files, logs.
pub fn alone(name: &str) -> bool {
    if std::env::var_os("TIDEGATE_ALONE").is_some() {
        return true;
    }
    let this = std::env::current_exe().expect("a test runs from a file");
    let child = std::process::Command::new(this).args(["--exact", name, "--nocapture"]).env("TIDEGATE_ALONE", "1").output();
    let child = child.expect("it runs again");
    let said = [child.stdout, child.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(child.status.success() && said[0].contains("1 passed"), "{}{}", said[0], said[1]);
    false
}
