//! `tidegate policy shadow`.

use anyhow::Result;
use serde_json::Value;
use tidegate::admin::api::{DropShadow, PromoteShadow, SetPolicy, ShadowList};

use super::{candidate, outcome, short};
use crate::args::{ShadowArgs, ShadowCommand};
use crate::client::Admin;
use crate::failure::Usage;
use crate::output::{Output, table};

pub(super) fn run(args: ShadowArgs, admin: &Admin, output: &Output) -> Result<()> {
    match args.command {
        Some(ShadowCommand::Status) => output.answer(&admin.shadows()?, listing),
        Some(ShadowCommand::Promote { pattern, kind, by }) => {
            output.answer(&admin.promote_shadow(&PromoteShadow { pattern, kind, by })?, outcome)
        }
        Some(ShadowCommand::Drop { pattern, kind }) => output.answer(&admin.drop_shadow(&DropShadow { pattern, kind })?, listing),
        None => {
            let (Some(pattern), Some(kind), Some(component)) = (args.pattern, args.kind, args.component) else {
                return Err(Usage("expected PATTERN KIND COMPONENT, or status, promote or drop".to_owned()).into());
            };
            let candidate = candidate(&component, &args.config)?;
            output.answer(&admin.shadow_policy(&SetPolicy { pattern, kind, by: args.by, digest: args.digest, ..candidate })?, listing)
        }
    }
}

fn listing(list: &ShadowList) -> String {
    if list.shadows.is_empty() {
        return "no candidate runs beside the policies of this broker".to_owned();
    }
    let head = [
        "PATTERN",
        "KIND",
        "CANDIDATE",
        "VERSION",
        "DIGEST",
        "OWNERS",
        "CALLS",
        "FAULTS",
        "DIFFERS",
        "HOW",
        "COST LIVE",
        "COST CANDIDATE",
        "STATE",
    ];
    table(head, &list.shadows.iter().map(row).collect::<Vec<_>>())
}

fn row(shadow: &Value) -> [String; 13] {
    let text = |key: &str| match &shadow[key] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    [
        text("pattern"),
        text("kind"),
        text("plugin"),
        text("version"),
        short(&text("digest")),
        text("owners"),
        text("calls"),
        text("faults"),
        differs(shadow),
        directions(shadow),
        cost(&shadow["live"]),
        cost(&shadow["candidate"]),
        state(shadow),
    ]
}

/// The share of comparisons in which it differs.
fn differs(shadow: &Value) -> String {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let (all, same) = (count(&shadow["compared"]), count(&shadow["directions"]["same"]));
    match (all.saturating_sub(same) * 1_000).checked_div(all) {
        None => "-".to_owned(),
        Some(permille) => format!("{}.{} % of {all}", permille / 10, permille % 10),
    }
}

/// `12 later, 3 sooner`.
fn directions(shadow: &Value) -> String {
    let counts = shadow["directions"].as_object().into_iter().flatten().filter(|(direction, _)| *direction != "same");
    let told: Vec<String> = counts.map(|(direction, count)| format!("{count} {direction}")).collect();
    if told.is_empty() { "-".to_owned() } else { told.join(", ") }
}

/// What one side costs, without what it does not have.
fn cost(side: &Value) -> String {
    let count = |key: &str| side[key].as_u64().unwrap_or(0);
    let mut told = Vec::new();
    if count("requests") > 0 {
        told.push(format!("{} requests, ${:.6}", count("requests"), count("nano_dollars") as f64 / 1e9));
    }
    if count("bytes") > 0 {
        told.push(format!("{} bytes", count("bytes")));
    }
    if count("ack_p99_us") > 0 {
        told.push(format!("ack p50 {} us, p99 {} us", count("ack_p50_us"), count("ack_p99_us")));
    }
    if told.is_empty() { "-".to_owned() } else { told.join(", ") }
}

fn state(shadow: &Value) -> String {
    match shadow["dropped"].as_str().unwrap_or_default() {
        "" => match shadow["dropped_events"].as_u64().unwrap_or(0) {
            0 => "runs".to_owned(),
            events => format!("runs; too slow for {events} events"),
        },
        why => format!("dropped({why})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_is_told_with_its_direction_and_cost() {
        let shadow = serde_json::json!({
            "pattern": "logs-*", "kind": "flush", "plugin": "p", "version": "1", "digest": "sha256:0123456789abcdef", "owners": 2,
            "calls": 40, "faults": 0, "compared": 8, "directions": {"same": 5, "later": 2, "sooner": 1}, "dropped": "", "dropped_events": 0,
            "live": {"requests": 8, "nano_dollars": 40_000, "bytes": 0, "ack_p50_us": 5, "ack_p99_us": 9},
            "candidate": {"requests": 0, "nano_dollars": 0, "bytes": 7, "ack_p50_us": 0, "ack_p99_us": 0},
        });
        let expected = [
            "logs-*",
            "flush",
            "p",
            "1",
            "0123456789ab",
            "2",
            "40",
            "0",
            "37.5 % of 8",
            "2 later, 1 sooner",
            "8 requests, $0.000040, ack p50 5 us, p99 9 us",
            "7 bytes",
            "runs",
        ];
        assert_eq!(row(&shadow), expected.map(String::from));
    }

    #[test]
    fn one_that_failed_says_why() {
        let shadow = serde_json::json!({ "dropped": "after 3 faults, the last call.trap: x" });
        assert_eq!((state(&shadow), differs(&shadow)), ("dropped(after 3 faults, the last call.trap: x)".to_owned(), "-".to_owned()));
    }
}
