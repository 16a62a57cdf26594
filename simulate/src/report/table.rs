//! One column for each candidate, one line for each figure.

use super::units::{bytes, count, ms, percent, usd};
use crate::outcome::{Latencies, Outcome};

/// A figure: what it is called, and how it is shown.
type Figure = (&'static str, fn(&Outcome) -> String);

const FIGURES: [Figure; 20] = [
    ("PUTs", |o| count(o.usage.puts)),
    ("GETs", |o| count(o.usage.gets)),
    ("LISTs", |o| count(o.usage.lists)),
    ("cost a month", |o| usd(o.monthly_nano)),
    ("segments", |o| count(o.segments.count)),
    ("segment p50", |o| bytes(o.segments.p50)),
    ("segment p99", |o| bytes(o.segments.p99)),
    ("ack p50", |o| of(&o.acks, o.acks.p50_us)),
    ("ack p99", |o| of(&o.acks, o.acks.p99_us)),
    ("ack p99.9", |o| of(&o.acks, o.acks.p999_us)),
    ("fetch p50", |o| of(&o.fetches, o.fetches.p50_us)),
    ("fetch p99", |o| of(&o.fetches, o.fetches.p99_us)),
    ("memory peak", |o| bytes(o.memory_peak_bytes)),
    ("hit ratio", |o| o.hit_ratio.map_or_else(|| "-".to_owned(), percent)),
    ("read ahead", |o| bytes(o.read_ahead_bytes)),
    ("wasted: evicted", |o| bytes(o.wasted.evicted)),
    ("wasted: abandoned", |o| bytes(o.wasted.abandoned)),
    ("wasted: cancelled", |o| bytes(o.wasted.cancelled)),
    ("wasted: unread", |o| bytes(o.wasted.unread)),
    ("decisions, faults", |o| format!("{}, {}", count(o.decisions), count(o.faults))),
];

/// What went wrong; shown where it did.
const TROUBLE: [Figure; 3] = [
    ("throttled", |o| count(o.throttled)),
    ("failed appends", |o| count(o.failed_appends)),
    ("failed fetches", |o| count(o.failed_fetches)),
];

fn of(latencies: &Latencies, us: u64) -> String {
    if latencies.count == 0 { "-".to_owned() } else { ms(us) }
}

/// The figures that are shown, each with one cell for each outcome.
pub(super) fn rows(outcomes: &[Outcome]) -> Vec<(&'static str, Vec<String>)> {
    let row = |(name, show): &Figure| (*name, outcomes.iter().map(show).collect::<Vec<_>>());
    let trouble = TROUBLE.iter().map(row).filter(|(_, cells)| cells.iter().any(|cell| cell != "0"));
    FIGURES.iter().map(row).chain(trouble).collect()
}

/// Plain text, columns lined up.
pub fn table(outcomes: &[Outcome]) -> String {
    let mut lines = vec![("".to_owned(), outcomes.iter().map(|outcome| outcome.policy.clone()).collect::<Vec<_>>())];
    lines.extend(rows(outcomes).into_iter().map(|(name, cells)| (name.to_owned(), cells)));
    let first = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let width = |column: usize| lines.iter().map(|(_, cells)| cells[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..outcomes.len()).map(width).collect();
    let line = |(name, cells): &(String, Vec<String>)| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("  {cell:>width$}"));
        format!("{name:first$}{}", cells.collect::<String>())
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A Markdown table with one line for each candidate: what policies are chosen by.
pub fn markdown(outcomes: &[Outcome]) -> String {
    let head = "| policy | PUTs | GETs | uploaded | cost a month | ack p50 | ack p99 | fetch p99 | hit ratio | wasted |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|";
    let line = |o: &Outcome| {
        let cells = [
            count(o.usage.puts),
            count(o.usage.gets),
            bytes(o.usage.bytes_up),
            usd(o.monthly_nano),
            of(&o.acks, o.acks.p50_us),
            of(&o.acks, o.acks.p99_us),
            of(&o.fetches, o.fetches.p99_us),
            o.hit_ratio.map_or_else(|| "-".to_owned(), percent),
            bytes(o.wasted.total()),
        ];
        format!("| `{}` | {} |", o.policy, cells.join(" | "))
    };
    std::iter::once(head.to_owned()).chain(outcomes.iter().map(line)).collect::<Vec<_>>().join("\n")
}
