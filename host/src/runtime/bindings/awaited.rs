//! Policies of the settings whose component was not to be had at start: the place did not answer, had nothing, or the compiler was late.
//!
//! They are tried again, after pauses that double up to `plugins.retry_max_ms`, until the component is bound or refused for a reason that does
//! not pass by itself. Meanwhile the built-in decides, and status, log and `tidegate_runtime_bindings_awaited` say so.

use std::time::Duration;

use super::Bindings;
use super::rules::{Loading, Outcome};
use crate::config::BindingRule;
use crate::error::Result;
use crate::policy::FaultClass;

/// Pause before the first try; doubled from then on.
pub(in crate::runtime) const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// A rule that is tried again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Awaited {
    /// Its place among the rules.
    pub(super) at: usize,
    pub(super) rule: BindingRule,
}

/// Whether a failure may pass without anybody's doing here.
pub(super) fn may_pass(class: FaultClass) -> bool {
    matches!(class, FaultClass::Unavailable | FaultClass::CompileTimeout | FaultClass::CompileBusy)
}

impl Bindings {
    /// Tries what is awaited once more, and binds what has come; says how many are still awaited.
    pub(in crate::runtime) async fn try_awaited(&self) -> Result<usize> {
        let awaited = self.awaited.lock().clone();
        let mut left = Vec::new();
        for awaited in awaited {
            let Outcome { binding, class } = self.loading().load_rule(&awaited.rule).await;
            let (pattern, kind) = (binding.pattern.clone(), binding.kind);
            let came = binding.plugin.as_ref().map(|plugin| plugin.digest().to_owned()).ok();
            self.take_rule(awaited.at, binding).await?;
            if let Some(digest) = came {
                tracing::info!(pattern, %kind, source = awaited.rule.plugin, digest, "a policy of the settings has come and is in force");
            }
            if class.is_some_and(may_pass) {
                left.push(awaited);
            }
        }
        let count = left.len();
        self.set_awaited(left);
        Ok(count)
    }

    pub(super) fn set_awaited(&self, awaited: Vec<Awaited>) {
        self.metrics.runtime.bindings_awaited.set(awaited.len() as i64);
        *self.awaited.lock() = awaited;
    }

    /// Whether a rule is tried again.
    pub(in crate::runtime) fn awaits(&self) -> bool {
        !self.awaited.lock().is_empty()
    }

    pub(super) fn loading(&self) -> Loading<'_> {
        Loading { sources: &self.sources, trust: &self.trust, policies: &self.policies, context: &self.context, metrics: &self.metrics }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_by_itself_is_tried_again() {
        assert!([FaultClass::Unavailable, FaultClass::CompileTimeout, FaultClass::CompileBusy].into_iter().all(may_pass));
        let final_ones = [FaultClass::DigestMismatch, FaultClass::Untrusted, FaultClass::TooLarge, FaultClass::ConfigRejected];
        assert!(!final_ones.into_iter().any(may_pass));
    }
}
