//! Candidates that run beside the live policies of this host, until they are promoted or dropped.
//!
//! A candidate passes what a binding passes before its turn, and is not stored: a restart ends it, and other hosts know nothing of it.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::attempts::Wanted;
use super::{Bindings, requests};
use crate::error::{Error, ErrorKind, Result};
use crate::metadata::Place;
use crate::policy::{ActiveBinding, Kind, ShadowStatus};
use crate::runtime::api::{Bind, BindingChange};

/// What would be bound if a candidate was promoted.
#[derive(Default)]
pub(super) struct Candidates(Mutex<BTreeMap<Place, Bind>>);

impl Bindings {
    /// Checks a candidate, tries it out, and lets it run beside what decides; in place of one of the same pattern and kind.
    pub(in crate::runtime) async fn shadow(&self, bind: Bind) -> Result<ShadowStatus> {
        let mut wanted = Wanted::of(&bind);
        let plugin = self.load_wanted(&bind, &mut wanted).await?;
        let Bind { pattern, kind, config, source, by, .. } = bind.clone();
        let candidate = ActiveBinding { pattern, kind, plugin: Ok(plugin), config, source };
        let tried = self.policies.trial(&candidate, &self.context).await;
        tried.map_err(|error| requests::refused(&wanted.place, error))?;
        self.policies.start_shadow(candidate, &by, self.env.unix_ms())?;
        let Wanted { place, plugin, .. } = wanted;
        tracing::info!(pattern = place.pattern, kind = %place.kind, by, plugin, "a candidate runs beside the policy");
        self.candidates.0.lock().insert(place.clone(), bind);
        self.shadow_of(&place)
    }

    /// All shadows of this host.
    pub(in crate::runtime) fn shadows(&self) -> Vec<ShadowStatus> {
        self.policies.shadows()
    }

    /// Binds a candidate as it ran, and ends its shadow. One that failed too often is refused.
    pub(in crate::runtime) async fn promote(&self, pattern: &str, kind: Kind, by: &str) -> Result<BindingChange> {
        let place = Place { pattern: pattern.to_owned(), kind };
        let status = self.shadow_of(&place)?;
        if !status.dropped.is_empty() {
            let message =
                format!("the candidate {} was dropped {}: shadow a mended one, or bind it without a shadow", status.plugin, status.dropped);
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let candidate = self.candidates.0.lock().get(&place).cloned().ok_or_else(|| missing(&place))?;
        let change = self.bind(Bind { by: by.to_owned(), ..candidate }).await?;
        self.end(&place);
        Ok(change)
    }

    /// Ends a shadow, and says what it came to.
    pub(in crate::runtime) fn drop_shadow(&self, pattern: &str, kind: Kind) -> Result<ShadowStatus> {
        let place = Place { pattern: pattern.to_owned(), kind };
        let status = self.shadow_of(&place)?;
        self.end(&place);
        Ok(status)
    }

    fn end(&self, place: &Place) {
        self.policies.drop_shadow(&place.pattern, place.kind);
        self.candidates.0.lock().remove(place);
    }

    fn shadow_of(&self, place: &Place) -> Result<ShadowStatus> {
        let found = self.policies.shadows().into_iter().find(|shadow| shadow.pattern == place.pattern && shadow.kind == place.kind);
        found.ok_or_else(|| missing(place))
    }
}

fn missing(Place { pattern, kind }: &Place) -> Error {
    Error::new(ErrorKind::NotFound, format!("no {kind} candidate runs for exactly {pattern:?} on this host"))
}
