//! Candidates: the policies of one simulated host, by name.
//!
//! `built-in` is a host without any. A component is named by its path, or by what it is called in the folder of plugins, and may be followed by
//! `=` and its config: `flush-threshold={"bytes":1048576}`. Several, for different kinds, are joined by `+`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tidegate::config::{MAX_COMPONENT_BYTES, PolicySettings};
use tidegate::error::{Error, ErrorKind, Result};
use tidegate::policy::{ActiveBinding, Context, PolicyFault, PolicyHost, PolicySource};

/// The name of a host without policies.
const BUILT_IN: &str = "built-in";

/// Policies that are simulated together.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// As it was named.
    pub name: String,
    pub(crate) bindings: Vec<ActiveBinding>,
}

impl Candidate {
    /// A host without policies: the built-ins decide.
    pub fn built_in() -> Self {
        Self { name: BUILT_IN.to_owned(), bindings: Vec::new() }
    }
}

/// Loads candidates.
pub struct Plugins {
    directory: Option<PathBuf>,
    host: PolicyHost,
}

impl Plugins {
    /// Plugins of a folder, or of paths alone. `settings` limit what a component may take; no decision is cut short by the clock of
    /// this machine before it has taken ten seconds.
    pub fn new(directory: Option<&Path>, settings: &PolicySettings) -> Self {
        let patient = PolicySettings { decision_deadline_ms: 10_000, init_deadline_ms: 10_000, ..settings.clone() };
        let host = PolicyHost::inline(patient, Arc::default(), Arc::new(|_: &PolicyFault| {}));
        Self { directory: directory.map(Path::to_owned), host }
    }

    /// Loads a candidate and tries it out, as binding it would.
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput) says what is wrong with a name, a component or its config.
    pub async fn candidate(&self, text: &str) -> Result<Candidate> {
        let mut bindings: Vec<ActiveBinding> = Vec::new();
        if text != BUILT_IN {
            for (name, config) in parts(text)? {
                for binding in self.load(name, config).await? {
                    if let Some(other) = bindings.iter().find(|other| other.kind == binding.kind) {
                        let problem =
                            format!("policy {text:?}: {name} and {} both decide {}: name one of them", other.source, binding.kind);
                        return Err(Error::new(ErrorKind::InvalidInput, problem));
                    }
                    bindings.push(binding);
                }
            }
        }
        Ok(Candidate { name: text.to_owned(), bindings })
    }

    async fn load(&self, name: &str, config: Value) -> Result<Vec<ActiveBinding>> {
        let path = self.path_of(name);
        let invalid = |problem: String| Error::new(ErrorKind::InvalidInput, format!("policy {name:?} ({}): {problem}", path.display()));
        let mut bytes = Vec::new();
        // One byte too much is for the checks to refuse.
        let read = File::open(&path).and_then(|file| file.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|e| invalid(format!("it cannot be read: {e}; `make plugins` builds the bundled ones")))?;
        let plugin = self.host.check_and_load(bytes.into()).await.map_err(|e| invalid(e.to_string()))?;
        let mut bindings = Vec::new();
        for kind in plugin.kinds() {
            let plugin = Ok(plugin.clone() as Arc<dyn PolicySource>);
            let binding = ActiveBinding { pattern: "*".to_owned(), kind, plugin, config: config.clone(), source: name.to_owned() };
            self.host.try_binding(&binding, &Context::default()).await?;
            bindings.push(binding);
        }
        Ok(bindings)
    }

    /// A path as it is; a bare name in the folder.
    fn path_of(&self, name: &str) -> PathBuf {
        let path = Path::new(name);
        match &self.directory {
            Some(directory) if path.components().count() == 1 && !path.is_file() => {
                directory.join(if name.ends_with(".wasm") { name.to_owned() } else { format!("{name}.wasm") })
            }
            _ => path.to_owned(),
        }
    }
}

/// The components of a candidate, with their configs.
fn parts(text: &str) -> Result<Vec<(&str, Value)>> {
    let invalid = |problem: String| Error::new(ErrorKind::InvalidInput, format!("policy {text:?}: {problem}"));
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let end = rest.find(['=', '+']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() {
            return Err(invalid("a component without a name: expected NAME, NAME=CONFIG, or several joined by +".to_owned()));
        }
        let (config, after) = match after.strip_prefix('=') {
            None => (Value::Object(serde_json::Map::new()), after),
            Some(json) => {
                let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
                let config = values.next().unwrap_or(Ok(Value::Null)).map_err(|e| invalid(format!("the config of {name}: {e}")))?;
                if !config.is_object() {
                    return Err(invalid(format!("the config of {name}: expected a JSON object")));
                }
                (config, &json[values.byte_offset()..])
            }
        };
        parts.push((name, config));
        if after.is_empty() {
            return Ok(parts);
        }
        rest =
            after.strip_prefix('+').ok_or_else(|| invalid(format!("after {name}: expected + and another component, found {after:?}")))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_named_with_their_configs() {
        let found = parts(r#"a={"x":"1+2=3"}+./b.wasm+c"#).unwrap();
        let expected = [("a", serde_json::json!({"x": "1+2=3"})), ("./b.wasm", serde_json::json!({})), ("c", serde_json::json!({}))];
        assert_eq!(found, expected);
        for (wrong, why) in [
            ("", "without a name"),
            ("a+", "without a name"),
            ("a=1", "expected a JSON object"),
            ("a={", "the config of a"),
            ("a={}b", "expected + and another"),
        ] {
            let error = parts(wrong).unwrap_err();
            assert!(error.message().contains(why), "{wrong:?}: {error}");
        }
    }
}
