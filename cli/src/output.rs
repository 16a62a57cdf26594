//! Everything that a command says on standard output, as text or JSON, and its failure on standard error.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;

/// Where answers go, and how they look.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// One answer: a line of JSON, or text made from the same value.
    pub(crate) fn answer<T: Serialize>(&self, value: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
        let shown = if self.json { serde_json::to_string(value)? } else { text(value) };
        write_line(io::stdout().lock(), shown.trim_end())?;
        Ok(())
    }

    /// Why the command failed, its causes included.
    pub(crate) fn failure(&self, error: &anyhow::Error) {
        let message = format!("{error:#}");
        let shown =
            if self.json { serde_json::json!({ "error": { "message": message } }).to_string() } else { format!("tidegate: {message}") };
        // Nobody is left to tell if this fails.
        drop(write_line(io::stderr().lock(), &shown));
    }
}

/// A reader that has gone away (`| head`) is no failure.
fn write_line(mut to: impl Write, text: &str) -> io::Result<()> {
    match writeln!(to, "{text}").and_then(|()| to.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Columns as wide as their widest cell.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).chain([head[column].len()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |cells: &[&str]| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&head)];
    lines.extend(rows.iter().map(|row| line(&row.each_ref().map(String::as_str))));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up_its_columns() {
        let text = table(["NAME", "N"], &[["a".into(), "100".into()], ["longer".into(), "1".into()]]);
        assert_eq!(text, "NAME    N\na       100\nlonger  1");
    }
}
