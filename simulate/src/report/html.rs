//! One page that needs nothing else: no script, no font, no picture from elsewhere. Follows the reader's light or dark setting.

use std::fmt::Write;

use super::svg::{Axis, Bar, COLOURS, bars, even_ticks, lines, log_ticks};
use super::table::rows;
use super::units::{bytes, count, percent, usd};
use crate::outcome::Outcome;

const STYLE: &str = include_str!("page.css");

/// The page. `title` says what was simulated.
pub fn page(title: &str, outcomes: &[Outcome]) -> String {
    let title = escaped(title);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head><body><main><h1>{title}</h1>\n"
    );
    html += &legend(outcomes);
    html += "<section class=\"plots\">\n";
    for (name, plot) in [
        ("Cost of a month", cost(outcomes)),
        ("Ack latency, by percentile", acks(outcomes)),
        ("Segment sizes", sizes(outcomes)),
        ("PUTs over time", puts(outcomes)),
        ("Slowest ack over time", slowest(outcomes)),
        ("Bytes wasted, and hit ratio", waste(outcomes)),
    ] {
        let _ = writeln!(html, "<figure><figcaption>{name}</figcaption>{plot}</figure>");
    }
    html += "</section>\n<div class=\"scroll\">";
    html += &figures(outcomes);
    html + "</div></main></body></html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Bars have room for a name of some length.
fn short(name: &str) -> String {
    let cut: String = name.chars().take(36).collect();
    escaped(&if cut.len() < name.len() { format!("{cut}…") } else { cut })
}

fn legend(outcomes: &[Outcome]) -> String {
    let entry = |(number, outcome): (usize, &Outcome)| {
        format!("<li><i class=\"c{}\"></i><code>{}</code></li>", number % COLOURS, escaped(&outcome.policy))
    };
    format!("<ul class=\"legend\">{}</ul>\n", outcomes.iter().enumerate().map(entry).collect::<String>())
}

fn figures(outcomes: &[Outcome]) -> String {
    let cells = |tag: &str, cells: &[String]| cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect::<String>();
    let names: Vec<String> = outcomes.iter().map(|outcome| outcome.policy.clone()).collect();
    let body: String = rows(outcomes).iter().map(|(name, row)| format!("<tr><th>{name}</th>{}</tr>", cells("td", row))).collect();
    format!("<table><thead><tr><th></th>{}</tr></thead><tbody>{body}</tbody></table>", cells("th", &names))
}

fn cost(outcomes: &[Outcome]) -> String {
    let bar = |(number, o): (usize, &Outcome)| Bar {
        name: short(&o.policy),
        text: format!("{} · {} PUTs", usd(o.monthly_nano), count(o.usage.puts)),
        parts: vec![(number, o.monthly_nano as f64)],
    };
    bars("cost of a month", &outcomes.iter().enumerate().map(bar).collect::<Vec<_>>())
}

/// Causes take the colours behind those of the candidates: they are named in the text.
fn waste(outcomes: &[Outcome]) -> String {
    let bar = |o: &Outcome| Bar {
        name: short(&o.policy),
        text: format!("{} · {} hits", bytes(o.wasted.total()), o.hit_ratio.map_or_else(|| "no".to_owned(), percent)),
        parts: [o.wasted.evicted, o.wasted.abandoned, o.wasted.cancelled, o.wasted.unread]
            .iter()
            .enumerate()
            .map(|(cause, bytes)| (cause + 4, *bytes as f64))
            .collect(),
    };
    let causes = ["evicted", "abandoned", "cancelled", "unread"].iter().enumerate();
    let key: String = causes.map(|(at, cause)| format!("<li><i class=\"c{}\"></i>{cause}</li>", at + 4)).collect();
    bars("bytes wasted", &outcomes.iter().map(bar).collect::<Vec<_>>()) + &format!("<ul class=\"legend\">{key}</ul>")
}

fn acks(outcomes: &[Outcome]) -> String {
    let all = || outcomes.iter().flat_map(|o| &o.acks.percentiles_us).map(|us| *us as f64 / 1e3);
    let (from, to) = (all().fold(f64::MAX, f64::min).clamp(0.1, 1e6), all().fold(1.0, f64::max));
    let from = 10_f64.powf(from.log10().floor());
    let show = |value: f64| format!("{value} ms");
    let up = Axis { from, to: to.max(from * 10.0), ticks: log_ticks(from, to.max(from * 10.0)), label: "", show: &show, log: true };
    let percentile = |value: f64| format!("p{value:.0}");
    let ticks = vec![0.0, 25.0, 50.0, 75.0, 100.0];
    let across = Axis { from: 0.0, to: 100.0, ticks, label: "percentile", show: &percentile, log: false };
    let line = |o: &Outcome| o.acks.percentiles_us.iter().enumerate().map(|(p, us)| (p as f64, *us as f64 / 1e3)).collect();
    lines("ack latency by percentile", &across, &up, &outcomes.iter().map(line).collect::<Vec<_>>())
}

fn sizes(outcomes: &[Outcome]) -> String {
    let share = |o: &Outcome, count: u64| count as f64 / o.segments.count.max(1) as f64;
    let line = |o: &Outcome| o.segments.by_power.iter().enumerate().map(|(power, n)| (power as f64, share(o, *n))).collect();
    let size = |power: f64| bytes(1 << (power as u32 + 10).min(63));
    let across = Axis { from: 0.0, to: 18.0, ticks: vec![0.0, 5.0, 10.0, 15.0], label: "segments up to so large", show: &size, log: false };
    let up = Axis { from: 0.0, to: 1.0, ticks: vec![0.0, 0.5, 1.0], label: "", show: &percent, log: false };
    lines("segment sizes", &across, &up, &outcomes.iter().map(line).collect::<Vec<_>>())
}

fn puts(outcomes: &[Outcome]) -> String {
    let per_s = |o: &Outcome| {
        let part_s = (o.span_us as f64 / o.series.len().max(1) as f64 / 1e6).max(1e-6);
        o.series.iter().map(|p| (p.at_us as f64 / 1e6, p.puts as f64 / part_s)).collect()
    };
    over_time("PUTs over time", &|value| format!("{value}/s"), &outcomes.iter().map(per_s).collect::<Vec<_>>())
}

fn slowest(outcomes: &[Outcome]) -> String {
    let line = |o: &Outcome| o.series.iter().map(|p| (p.at_us as f64 / 1e6, p.slowest_ack_us as f64 / 1e3)).collect();
    over_time("slowest ack over time", &|value| format!("{value} ms"), &outcomes.iter().map(line).collect::<Vec<_>>())
}

fn over_time(title: &str, show: &dyn Fn(f64) -> String, series: &[Vec<(f64, f64)>]) -> String {
    let points = || series.iter().flatten();
    let (until, most) = (points().map(|p| p.0).fold(1e-6, f64::max), points().map(|p| p.1).fold(1e-6, f64::max));
    let seconds = |value: f64| format!("{value} s");
    let across = Axis { from: 0.0, to: until, ticks: even_ticks(until), label: "", show: &seconds, log: false };
    let up = Axis { from: 0.0, to: most, ticks: even_ticks(most), label: "", show, log: false };
    lines(title, &across, &up, series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Latencies, Sizes, Waste};

    #[test]
    fn a_page_is_whole_whatever_it_shows() {
        let empty = Outcome {
            policy: "<b>\"x\"</b>".to_owned(),
            span_us: 0,
            usage: Default::default(),
            throttled: 0,
            cost_nano: 0,
            monthly_nano: 0,
            segments: Sizes::default(),
            acks: Latencies::default(),
            fetches: Latencies::default(),
            appended_bytes: 0,
            fetched_bytes: 0,
            memory_peak_bytes: 0,
            hit_ratio: None,
            read_ahead_bytes: 0,
            read_ahead_used_bytes: 0,
            wasted: Waste::default(),
            failed_appends: 0,
            failed_fetches: 0,
            skipped_fetches: 0,
            decisions: 0,
            faults: 0,
            clamps: 0,
            series: Vec::new(),
        };
        for outcomes in [vec![], vec![empty; 9]] {
            let html = page("a & b", &outcomes);
            assert_eq!(html.matches("<svg").count(), 6);
            assert!(html.contains("<h1>a &amp; b</h1>") && !html.contains("<b>"));
            assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
            assert!(!html.contains("http") && !html.contains("<script"), "nothing is loaded");
        }
    }
}
