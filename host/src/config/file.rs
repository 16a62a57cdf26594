//! A settings file: TOML in, settings out, each mistake named by file, line and key.
//!
//! An embedder may keep sections of its own in the same file: it takes them out first, and what is left must be
//! [`Settings`].

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, ValueDeserializer};

use super::Settings;
use super::bounds::Problem;
use crate::error::{Error, ErrorKind, Result};

/// Largest settings file, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The text of a settings file, and which of its sections are spoken for.
#[derive(Debug)]
pub struct SettingsFile {
    name: String,
    text: String,
    taken: Vec<String>,
}

impl SettingsFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let invalid = |problem: String| Error::new(ErrorKind::InvalidInput, format!("settings file {name:?} {problem}"));
        let mut text = String::new();
        // It may be a device that never ends, whatever it says of its size.
        let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text));
        read.map_err(|e| invalid(format!("cannot be read: {e}")))?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(invalid(format!("has more than {MAX_FILE_BYTES} bytes, of which nobody needs so many")));
        }
        Ok(Self::new(name, text))
    }

    /// Takes text; `name` stands for it in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), taken: Vec::new() }
    }

    /// Takes out a section that is not the host's; its default where the file has none.
    pub fn take<T: DeserializeOwned + Default>(&mut self, section: &str) -> Result<T> {
        let taken = match self.parse()?.get_mut().remove(section) {
            None => T::default(),
            Some(value) => T::deserialize(ValueDeserializer::from(value)).map_err(|e| self.located(&e))?,
        };
        self.taken.push(section.to_owned());
        Ok(taken)
    }

    /// The host's settings: everything that was not taken, checked.
    pub fn settings(self) -> Result<Settings> {
        let mut sections = self.parse()?;
        for section in &self.taken {
            sections.get_mut().remove(section.as_str());
        }
        let settings = Settings::deserialize(Deserializer::from(sections)).map_err(|e| self.located(&e))?;
        let bounds = settings.check();
        if bounds.problems().is_empty() {
            return Ok(settings);
        }
        let sections = self.parse()?;
        let lines: Vec<String> = bounds.problems().iter().map(|p| self.describe(sections.get_ref(), p)).collect();
        Err(Error::new(ErrorKind::InvalidInput, lines.join("\n")))
    }

    fn parse(&self) -> Result<Spanned<DeTable<'_>>> {
        DeTable::parse(&self.text).map_err(|e| self.located(&e))
    }

    /// File, line, and the line itself, so that the key shows where the parser names only a type.
    fn located(&self, error: &toml::de::Error) -> Error {
        let message = error.message().replace('\n', ", ");
        let Some(span) = error.span() else {
            return Error::new(ErrorKind::InvalidInput, format!("{}: {message}", self.name));
        };
        let line = line_of(&self.text, span.start);
        let shown: String = self.text.lines().nth(line - 1).unwrap_or_default().trim().chars().take(80).collect();
        Error::new(ErrorKind::InvalidInput, format!("{}:{line}: `{shown}`: {message}", self.name))
    }

    fn describe(&self, sections: &DeTable<'_>, problem: &Problem) -> String {
        let line = find(sections, &problem.key).map(|position| format!(":{}", line_of(&self.text, position)));
        format!("{}{}: {} {}", self.name, line.unwrap_or_default(), problem.key, problem.text)
    }
}

fn line_of(text: &str, position: usize) -> usize {
    text.as_bytes().iter().take(position).filter(|b| **b == b'\n').count() + 1
}

/// Position of the deepest part of a key path (`topic[2].lanes`) that the file has.
fn find(sections: &DeTable<'_>, path: &str) -> Option<usize> {
    let mut found = None;
    let mut table = sections;
    for part in path.split('.') {
        let (name, at) = match part.split_once('[') {
            Some((name, at)) => (name, at.trim_end_matches(']').parse::<usize>().ok()),
            None => (part, None),
        };
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == name) else { break };
        let value = match (value.get_ref(), at) {
            (DeValue::Array(items), Some(at)) => items.get(at)?,
            _ => value,
        };
        found = Some(if at.is_some() { value.span().start } else { key.span().start });
        match value.get_ref() {
            DeValue::Table(next) => table = next,
            _ => break,
        }
    }
    found
}
