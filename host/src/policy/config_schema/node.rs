//! A schema as it is read: one node for each value that a config may have.

use serde_json::{Map, Value};

use super::check;
use super::show::{listed, shown_key};

/// Types of JSON, of which a value has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

const TYPES: [(&str, Type); 7] = [
    ("null", Type::Null),
    ("boolean", Type::Boolean),
    ("integer", Type::Integer),
    ("number", Type::Number),
    ("string", Type::String),
    ("array", Type::Array),
    ("object", Type::Object),
];

/// Keywords without a say.
const FOR_PEOPLE: [&str; 9] = ["title", "description", "default", "examples", "format", "deprecated", "$schema", "$id", "$comment"];

/// What one value must be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    /// Empty: any.
    pub(super) types: Vec<Type>,
    /// Of these, if there are any.
    pub(super) values: Vec<Value>,
    pub(super) low: Option<Bound>,
    pub(super) high: Option<Bound>,
    /// Characters of a string.
    pub(super) length: (Option<u64>, Option<u64>),
    /// Elements of a list.
    pub(super) count: (Option<u64>, Option<u64>),
    pub(super) items: Option<Box<Node>>,
    /// By name.
    pub(super) properties: Vec<(String, Node)>,
    pub(super) required: Vec<String>,
    /// What other keys than the properties must be.
    pub(super) others: Others,
    pub(super) default: Option<Value>,
    pub(super) description: String,
}

/// An end of a range of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    pub(super) value: Value,
    /// Whether it lies outside of the range itself.
    pub(super) excluded: bool,
}

/// `additionalProperties`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Others {
    #[default]
    Any,
    None,
    Like(Box<Node>),
}

impl Node {
    /// An object without keys.
    pub(super) fn closed() -> Self {
        Self { types: vec![Type::Object], others: Others::None, ..Self::default() }
    }

    pub(super) fn property(&self, key: &str) -> Option<&Node> {
        let own = self.properties.iter().find(|(name, _)| name == key).map(|(_, node)| node);
        own.or(match &self.others {
            Others::Like(node) => Some(node),
            _ => None,
        })
    }

    /// Reads the schema at a place. The error begins with the place.
    pub(super) fn read(schema: &Value, place: &str) -> Result<Self, String> {
        let schema = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(true) => return Ok(Self::default()),
            _ => return Err(at(place, "is no object")),
        };
        let mut node = Self::default();
        for (keyword, value) in schema {
            node.take(keyword, value, place)?;
        }
        node.verify_default(place)?;
        Ok(node)
    }

    fn take(&mut self, keyword: &str, value: &Value, place: &str) -> Result<(), String> {
        let wrong =
            |expected: &str| at(place, &format!("has {} for `{keyword}`, expected {expected}", listed(std::slice::from_ref(value))));
        let number = || value.is_number().then(|| value.clone()).ok_or_else(|| wrong("a number"));
        let count = || value.as_u64().map(Some).ok_or_else(|| wrong("a whole number"));
        match keyword {
            "type" => self.types = types(value).ok_or_else(|| wrong("a name of a type, or a list of them"))?,
            "enum" => self.values = value.as_array().filter(|values| !values.is_empty()).ok_or_else(|| wrong("a list"))?.clone(),
            "const" => self.values = vec![value.clone()],
            "minimum" => self.low = Some(Bound { value: number()?, excluded: false }),
            "maximum" => self.high = Some(Bound { value: number()?, excluded: false }),
            "exclusiveMinimum" => self.low = Some(Bound { value: number()?, excluded: true }),
            "exclusiveMaximum" => self.high = Some(Bound { value: number()?, excluded: true }),
            "minLength" => self.length.0 = count()?,
            "maxLength" => self.length.1 = count()?,
            "minItems" => self.count.0 = count()?,
            "maxItems" => self.count.1 = count()?,
            "items" => self.items = Some(Box::new(Node::read(value, &join(place, "items"))?)),
            "properties" => self.properties = properties(value.as_object().ok_or_else(|| wrong("an object"))?, place)?,
            "required" => self.required = names(value).ok_or_else(|| wrong("a list of keys"))?,
            "additionalProperties" => {
                self.others = match value {
                    Value::Bool(false) => Others::None,
                    Value::Bool(true) => Others::Any,
                    other => Others::Like(Box::new(Node::read(other, &join(place, keyword))?)),
                }
            }
            known if FOR_PEOPLE.contains(&known) => self.tell(known, value),
            unknown => {
                let unknown = shown_key(unknown);
                return Err(at(place, &format!("uses the keyword {unknown}, which is not served: leave it out and check it in `init`")));
            }
        }
        Ok(())
    }

    fn tell(&mut self, keyword: &str, value: &Value) {
        match (keyword, value) {
            ("default", value) => self.default = Some(value.clone()),
            ("description", Value::String(text)) => self.description.clone_from(text),
            _ => {}
        }
    }

    /// A default that the schema itself refuses misleads whoever reads it.
    fn verify_default(&self, place: &str) -> Result<(), String> {
        let Some(default) = &self.default else { return Ok(()) };
        let mut problems = Vec::new();
        check::value(self, default, "default", &mut problems);
        problems.into_iter().next().map_or(Ok(()), |problem| Err(at(place, &format!("refuses its own default: {problem}"))))
    }
}

fn types(value: &Value) -> Option<Vec<Type>> {
    let of = |name: &Value| TYPES.iter().find(|(known, _)| name.as_str() == Some(known)).map(|(_, it)| *it);
    match value {
        Value::Array(names) if !names.is_empty() => names.iter().map(of).collect(),
        name => of(name).map(|it| vec![it]),
    }
}

fn names(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

fn properties(properties: &Map<String, Value>, place: &str) -> Result<Vec<(String, Node)>, String> {
    let read = |(key, schema): (&String, &Value)| Ok((key.clone(), Node::read(schema, &join(place, key))?));
    let mut read = properties.iter().map(read).collect::<Result<Vec<_>, String>>()?;
    read.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(read)
}

fn join(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

fn at(place: &str, problem: &str) -> String {
    if place.is_empty() { problem.to_owned() } else { format!("at {} {problem}", shown_key(place)) }
}
