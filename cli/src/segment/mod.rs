//! `tidegate segment`: what stored objects say, and whether they hold.

use anyhow::{Result, anyhow};
use serde_json::Value;
use tidegate::segment::FormatError;

use crate::args::{SegmentArgs, SegmentCommand};
use crate::output::Output;

mod describe;
mod source;

use describe::{Stored, verified};

/// What one command makes of an object's bytes.
type Answer = fn(&[u8]) -> Result<Value, FormatError>;

pub(crate) fn run(args: SegmentArgs, output: &Output) -> Result<()> {
    let (object, answer): (_, Answer) = match args.command {
        SegmentCommand::Inspect(object) => (object, Stored::inspect),
        SegmentCommand::Verify(object) => (object, verified),
    };
    let bytes = source::read(&object)?;
    let found = answer(&bytes).map_err(|e| anyhow!("object {:?}: {e}", object.object))?;
    output.answer(&found, |found| serde_json::to_string_pretty(found).unwrap_or_default())
}
