//! What is measured: one file for each case.

use anyhow::{Result, bail};

use crate::host::Plugins;
use crate::report::Report;

mod append;
mod append_rate;
mod e2e;
mod fetch_cached;
mod flush_pipeline;
mod instances;
mod lanes;
mod open;
mod policy_call;
mod scan_cold;
mod seal;
mod shadow;
mod simulate;
mod swap;

/// A case.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Report, &Plugins) -> Result<()>,
}

/// All cases, in the order in which they run.
pub(crate) const ALL: [Case; 14] = [
    Case { name: "policy-call", run: policy_call::run },
    Case { name: "append-rate", run: append_rate::run },
    Case { name: "append", run: append::run },
    Case { name: "seal", run: seal::run },
    Case { name: "flush-pipeline", run: flush_pipeline::run },
    Case { name: "lanes", run: lanes::run },
    Case { name: "fetch-cached", run: fetch_cached::run },
    Case { name: "scan-cold", run: scan_cold::run },
    Case { name: "open", run: open::run },
    Case { name: "swap", run: swap::run },
    Case { name: "shadow", run: shadow::run },
    Case { name: "instances", run: instances::run },
    Case { name: "simulate", run: simulate::run_case },
    Case { name: "e2e", run: e2e::run },
];

/// The cases of these names; none means all.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Case>> {
    if names.is_empty() {
        return Ok(ALL.iter().collect());
    }
    let find = |name: &String| match ALL.iter().find(|case| case.name == name) {
        Some(case) => Ok(case),
        None => bail!("there is no case {name:?}; there are {}", ALL.map(|case| case.name).join(", ")),
    };
    names.iter().map(find).collect()
}
