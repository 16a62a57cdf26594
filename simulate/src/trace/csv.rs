//! Traces as CSV, one request a line:
//!
//! ```text
//! at_us,event,topic,partition,bytes,records,reader,offset,lanes
//! 0,topic,orders,16,,,,,4
//! 1200,append,orders,3,4096,8
//! 1350,send,orders,4,900,1
//! 2000,fetch,orders,3,1048576,,7,0
//! ```
//!
//! | column | what |
//! |---|---|
//! | `at_us` | microseconds since the trace began; never goes back; at most 30 days |
//! | `event` | `append`: a batch whose producer waits for its commit; `send`: one whose producer does not; `fetch`: a reader wants more; `topic`: names a topic, before its first use |
//! | `topic` | its name |
//! | `partition` | of `topic` the number of its partitions |
//! | `bytes` | size of the batch; of a fetch, bytes at most |
//! | `records` | records of the batch, at most 1,000,000 |
//! | `reader` | a number for each reader, which keeps to one partition |
//! | `offset` | where a reader begins or goes, counted from the first record of the trace; empty: where its last fetch ended |
//! | `lanes` | of `topic`, its lanes; empty or 0: as the settings say |
//!
//! Columns at the end of a line that are empty may be left out. Fields are not quoted.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use tidegate::error::{Error, ErrorKind, Result};
use tidegate::types::TopicName;

use super::{Action, Event, MAX_READERS, MAX_RECORDS, MAX_SPAN_US, MAX_TOPICS, Topic, Trace};

const COLUMNS: [&str; 9] = ["at_us", "event", "topic", "partition", "bytes", "records", "reader", "offset", "lanes"];
/// Longest line, in bytes.
const MAX_LINE: usize = 1 << 10;
/// Smallest and largest batch, in bytes: a header alone, and what a broker may be told to take.
const BATCH_BYTES: std::ops::RangeInclusive<u64> = 61..=tidegate::config::MAX_BATCH_BYTES;

impl Trace {
    /// Reads CSV. [`InvalidInput`](ErrorKind::InvalidInput) names line, column and what was expected; `name` stands for the file.
    pub fn read(name: &str, mut from: impl BufRead) -> Result<Self> {
        let mut reading = Reading::default();
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            let read = (&mut from).take_line(&mut line).map_err(|e| invalid(name, number, format!("cannot be read: {e}")))?;
            let text = line.trim_end_matches(['\n', '\r']);
            if number == 1 {
                check_header(text).map_err(|problem| invalid(name, number, problem))?;
            } else if read == 0 {
                break;
            } else if !text.is_empty() {
                reading.line(text).map_err(|problem| invalid(name, number, problem))?;
            }
        }
        let trace = reading.trace;
        trace.check()?;
        Ok(trace)
    }

    /// Writes CSV that [`read`](Self::read) makes the same trace of.
    pub fn write(&self, mut to: impl Write) -> std::io::Result<()> {
        writeln!(to, "{}", COLUMNS.join(","))?;
        for topic in &self.topics {
            writeln!(to, "0,topic,{},{},,,,,{}", topic.name, topic.partitions, topic.lanes)?;
        }
        for Event { at_us, topic, partition, action } in &self.events {
            let topic = &self.topics[*topic as usize].name;
            match action {
                Action::Append { bytes, records, waits } => {
                    let event = if *waits { "append" } else { "send" };
                    writeln!(to, "{at_us},{event},{topic},{partition},{bytes},{records}")?;
                }
                Action::Fetch { reader, offset: None, bytes } => writeln!(to, "{at_us},fetch,{topic},{partition},{bytes},,{reader}")?,
                Action::Fetch { reader, offset: Some(offset), bytes } => {
                    writeln!(to, "{at_us},fetch,{topic},{partition},{bytes},,{reader},{offset}")?;
                }
            }
        }
        to.flush()
    }
}

/// A line of bounded length; 0 at the end.
trait TakeLine {
    fn take_line(self, line: &mut String) -> std::io::Result<usize>;
}

impl<R: BufRead> TakeLine for &mut R {
    fn take_line(self, line: &mut String) -> std::io::Result<usize> {
        let read = std::io::Read::take(self, MAX_LINE as u64 + 1).read_line(line)?;
        if read > MAX_LINE {
            return Err(std::io::Error::other(format!("it is longer than {MAX_LINE} bytes")));
        }
        Ok(read)
    }
}

fn invalid(name: &str, line: usize, problem: String) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("{name}:{line}: {problem}"))
}

fn check_header(line: &str) -> Result<(), String> {
    let expected = COLUMNS.join(",");
    if line == expected { Ok(()) } else { Err(format!("the first line is {line:?}, expected {expected:?}")) }
}

#[derive(Default)]
struct Reading {
    trace: Trace,
    by_name: HashMap<String, u32>,
    at_us: u64,
}

impl Reading {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let fields = Fields::of(line)?;
        let at_us = fields.number(0, 0..=MAX_SPAN_US)?;
        if at_us < self.at_us {
            return Err(format!("column at_us is {at_us}, below {} of the line before", self.at_us));
        }
        self.at_us = at_us;
        let event = fields.0[1];
        if event == "topic" {
            return self.topic(&fields);
        }
        let name = fields.0[2];
        let unknown = || format!("column topic is {name:?}, and no line before names it with the event topic");
        let topic = *self.by_name.get(name).ok_or_else(unknown)?;
        let partitions = self.trace.topics[topic as usize].partitions;
        let partition = fields.number(3, 0..=u64::from(partitions) - 1)? as u32;
        let action = match event {
            "append" | "send" => Action::Append {
                bytes: fields.number(4, BATCH_BYTES)? as u32,
                records: fields.number(5, 1..=u64::from(MAX_RECORDS))? as u32,
                waits: event == "append",
            },
            "fetch" => Action::Fetch {
                bytes: fields.number(4, 1..=u64::from(u32::MAX))? as u32,
                reader: fields.number(6, 0..=u64::from(MAX_READERS) - 1)? as u32,
                offset: if fields.0[7].is_empty() { None } else { Some(fields.number(7, 0..=i64::MAX as u64)? as i64) },
            },
            other => return Err(format!("column event is {other:?}, expected append, send, fetch or topic")),
        };
        self.trace.events.push(Event { at_us, topic, partition, action });
        Ok(())
    }

    fn topic(&mut self, fields: &Fields<'_>) -> Result<(), String> {
        let name = TopicName::new(fields.0[2]).map_err(|e| format!("column topic: {e}"))?;
        if self.trace.topics.len() == MAX_TOPICS {
            return Err(format!("more than {MAX_TOPICS} topics"));
        }
        let partitions = fields.number(3, 1..=u64::from(tidegate::config::MAX_PARTITIONS))? as u32;
        let lanes = if fields.0[8].is_empty() { 0 } else { fields.number(8, 0..=u64::from(partitions))? as u32 };
        let number = self.trace.topics.len() as u32;
        if self.by_name.insert(name.as_str().to_owned(), number).is_some() {
            return Err(format!("column topic: {name} is named a second time"));
        }
        self.trace.topics.push(Topic { name, partitions, lanes });
        Ok(())
    }
}

/// The fields of a line; those left out are empty.
struct Fields<'a>([&'a str; COLUMNS.len()]);

impl<'a> Fields<'a> {
    fn of(line: &'a str) -> Result<Self, String> {
        let mut fields = [""; COLUMNS.len()];
        for (at, field) in line.split(',').enumerate() {
            *fields.get_mut(at).ok_or_else(|| format!("more than {} columns", COLUMNS.len()))? = field;
        }
        Ok(Self(fields))
    }

    fn number(&self, column: usize, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
        let (name, text) = (COLUMNS[column], self.0[column]);
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("column {name} is {text:?}, expected a number from {} to {}", range.start(), range.end()))
    }
}

#[cfg(test)]
mod tests;
