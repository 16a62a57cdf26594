//! Everything that a command says on standard output, as text or JSON, and its failure on standard error.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;

use crate::failure::Refused;

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
        let shown = match error.downcast_ref::<Refused>() {
            Some(Refused(detail)) if self.json => serde_json::json!({ "error": detail }).to_string(),
            None if self.json => serde_json::json!({ "error": { "message": message } }).to_string(),
            _ => format!("tidegate: {message}"),
        };
        // Nobody is left to tell if this fails.
        drop(write_line(io::stderr().lock(), &shown));
    }
}

/// A line on standard error about something that takes a while.
pub(crate) fn progress(text: &str) {
    // Nobody is left to tell if this fails.
    drop(write_line(io::stderr().lock(), text));
}

/// An answer that is written piece by piece, and is the same with `--json`.
pub(crate) fn stream(write: impl FnOnce(&mut io::StdoutLock<'_>) -> io::Result<()>) -> Result<()> {
    match write(&mut io::stdout().lock()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// A reader that has gone away (`| head`) is no failure.
fn write_line(mut to: impl Write, text: &str) -> io::Result<()> {
    match writeln!(to, "{text}").and_then(|()| to.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Columns as wide as their widest cell. What others wrote may hold line ends and escape codes: they are shown, not sent to the terminal.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| printable(cell))).collect();
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

fn printable(cell: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    cell.chars().map(shown).collect()
}

/// Milliseconds since 1970 as date and time of day, UTC. Days become a date as in Howard Hinnant's `civil_from_days`.
pub(crate) fn time(unix_ms: i64) -> String {
    let (days, seconds) = (unix_ms.div_euclid(86_400_000), unix_ms.rem_euclid(86_400_000) / 1_000);
    // Years begin in March, so that a leap day is the last of its year; an era has 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let cases = [
            (0, "1970-01-01 00:00:00"),
            (951_782_400_000, "2000-02-29 00:00:00"),
            (1_700_000_000_999, "2023-11-14 22:13:20"),
            (4_107_542_399_000, "2100-02-28 23:59:59"),
            (-1, "1969-12-31 23:59:59"),
        ];
        for (unix_ms, expected) in cases {
            assert_eq!(time(unix_ms), expected);
        }
        time(i64::MAX);
        time(i64::MIN);
    }

    #[test]
    fn a_table_lines_up_its_columns() {
        let text = table(["NAME", "N"], &[["a".into(), "100".into()], ["longer".into(), "1".into()]]);
        assert_eq!(text, "NAME    N\na       100\nlonger  1");
    }

    #[test]
    fn no_cell_reaches_the_terminal_as_a_command() {
        assert_eq!(table(["A"], &[["x\n\u{1b}[2Jy".into()]]), "A\nx\\n\\u{1b}[2Jy");
    }
}
