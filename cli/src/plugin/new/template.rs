//! The files of a new project: one module for each kind, a schema and scenarios put together of those of its kinds.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::Kinds;
use super::sdk::Sdk;

/// A file's path in the project, and its text.
pub(super) type File = (String, String);

/// What belongs to one kind.
struct Part {
    /// As a module.
    module: &'static str,
    /// As `policy set` names it.
    kind: &'static str,
    policy: &'static str,
    source: &'static str,
    schema: &'static str,
    scenarios: &'static str,
}

macro_rules! part {
    ($module:literal, $kind:literal, $policy:literal) => {
        Part {
            module: $module,
            kind: $kind,
            policy: $policy,
            source: include_str!(concat!("../../../templates/plugin/", $module, ".rs.in")),
            schema: include_str!(concat!("../../../templates/plugin/", $module, ".schema.json")),
            scenarios: include_str!(concat!("../../../templates/plugin/", $module, ".scenarios.toml")),
        }
    };
}

static PARTS: [(Kinds, Part); 3] = [
    (Kinds::Flush, part!("flush", "flush", "FlushPolicy")),
    (Kinds::Index, part!("index", "index", "IndexPolicy")),
    (Kinds::ReadAhead, part!("read_ahead", "read-ahead", "ReadAheadPolicy")),
];

const MANIFEST: &str = include_str!("../../../templates/plugin/Cargo.toml.in");
const README: &str = include_str!("../../../templates/plugin/README.md.in");
const IGNORED: &str = include_str!("../../../templates/plugin/gitignore.in");
const LIB: &str = include_str!("../../../templates/plugin/lib.rs.in");
const SCENARIOS: &str = include_str!("../../../templates/plugin/head.scenarios.toml");

pub(super) fn files(name: &str, kinds: Kinds, sdk: &Sdk) -> Result<Vec<File>> {
    let parts: Vec<&Part> = PARTS.iter().filter(|(kind, _)| kinds == Kinds::All || *kind == kinds).map(|(_, part)| part).collect();
    let join = |of: &dyn Fn(&Part) -> String| parts.iter().map(|part| of(part)).collect::<String>();
    let modules = join(&|part| format!("pub mod {};\n", part.module));
    let exports = join(&|part| format!("    {}: {}::{},\n", part.module, part.module, part.policy));
    let mut files = vec![
        ("Cargo.toml".to_owned(), MANIFEST.replace("{name}", name).replace("{sdk}", &sdk.dependency()?)),
        ("README.md".to_owned(), README.replace("{name}", name).replace("{kind}", parts.first().map_or("flush", |part| part.kind))),
        (".gitignore".to_owned(), IGNORED.to_owned()),
        ("config.schema.json".to_owned(), schema(&parts)?),
        ("scenarios.toml".to_owned(), SCENARIOS.to_owned() + &join(&|part| part.scenarios.to_owned())),
        ("src/lib.rs".to_owned(), LIB.replace("{modules}", &modules).replace("{exports}", &exports)),
    ];
    files.extend(parts.iter().map(|part| (format!("src/{}.rs", part.module), part.source.to_owned())));
    Ok(files)
}

/// One schema for all kinds: a binding is of one kind, whose `init` refuses the keys of the others.
fn schema(parts: &[&Part]) -> Result<String> {
    let mut properties = Map::new();
    for part in parts {
        properties.extend(serde_json::from_str::<Map<String, Value>>(part.schema)?);
    }
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}
