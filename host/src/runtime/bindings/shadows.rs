//! Candidates that run beside the live policies of this host, until they are promoted or dropped.
//!
//! A candidate passes what a binding passes before its turn, and is not stored: a restart ends it, and other hosts know nothing of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::attempts::Wanted;
use super::{Bindings, requests};
use crate::error::{Error, ErrorKind, Result};
use crate::metadata::Place;
use crate::policy::{ActiveBinding, Kind, ShadowStatus};
use crate::runtime::api::{Bind, BindingChange};

/// What would be bound if a candidate was promoted. Its lock is held while shadows begin and end, so that both tell the same.
#[derive(Default)]
pub(super) struct Candidates(Mutex<BTreeMap<Place, Candidate>>);

struct Candidate {
    bind: Arc<Bind>,
    /// Nobody else may promote or drop it meanwhile.
    promoting: bool,
}

/// A candidate that is being promoted; free again when this is dropped, as with a client that hangs up.
struct Promotion<'a> {
    candidates: &'a Candidates,
    place: Place,
    bind: Arc<Bind>,
}

impl Promotion<'_> {
    /// Whether what is at the place is still what is promoted, and not a candidate that came later.
    fn is(&self, candidate: Option<&Candidate>) -> bool {
        candidate.is_some_and(|candidate| Arc::ptr_eq(&candidate.bind, &self.bind))
    }
}

impl Drop for Promotion<'_> {
    fn drop(&mut self) {
        let mut candidates = self.candidates.0.lock();
        if self.is(candidates.get(&self.place)) {
            candidates.entry(self.place.clone()).and_modify(|candidate| candidate.promoting = false);
        }
    }
}

impl Bindings {
    /// Checks a candidate, tries it out, and lets it run beside what decides; in place of one of the same pattern and kind.
    pub(in crate::runtime) async fn shadow(&self, bind: Bind) -> Result<ShadowStatus> {
        let mut wanted = Wanted::of(&bind);
        let plugin = self.load_wanted(&bind, &mut wanted).await?;
        let Bind { pattern, kind, config, source, by, .. } = bind.clone();
        let candidate = ActiveBinding { pattern, kind, plugin: Ok(plugin), config, source };
        let tried = self.policies.trial(&candidate, &self.context).await;
        tried.map_err(|error| requests::refused(&wanted.place, error))?;
        let Wanted { place, plugin, .. } = wanted;
        let mut candidates = self.candidates.0.lock();
        self.policies.start_shadow(candidate, &by, self.env.unix_ms())?;
        candidates.insert(place.clone(), Candidate { bind: Arc::new(bind), promoting: false });
        tracing::info!(pattern = place.pattern, kind = %place.kind, by, plugin, "a candidate runs beside the policy");
        self.shadow_of(&place)
    }

    /// All shadows of this host.
    pub(in crate::runtime) fn shadows(&self) -> Vec<ShadowStatus> {
        self.policies.shadows()
    }

    /// Binds a candidate as it ran, and ends its shadow. One that failed too often is refused.
    ///
    /// [`Conflict`](ErrorKind::Conflict): it is being promoted already. One that is begun at the same place meanwhile runs on.
    pub(in crate::runtime) async fn promote(&self, pattern: &str, kind: Kind, by: &str) -> Result<BindingChange> {
        let promotion = self.begin_promotion(Place { pattern: pattern.to_owned(), kind })?;
        let change = self.bind(Bind { by: by.to_owned(), ..Bind::clone(&promotion.bind) }).await?;
        let mut candidates = self.candidates.0.lock();
        if promotion.is(candidates.get(&promotion.place)) {
            self.end(&promotion.place, &mut candidates);
        }
        drop(candidates);
        Ok(change)
    }

    fn begin_promotion(&self, place: Place) -> Result<Promotion<'_>> {
        let mut candidates = self.candidates.0.lock();
        let status = self.shadow_of(&place)?;
        if !status.dropped.is_empty() {
            let message =
                format!("the candidate {} was dropped {}: shadow a mended one, or bind it without a shadow", status.plugin, status.dropped);
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let candidate = candidates.get_mut(&place).ok_or_else(|| missing(&place))?;
        if candidate.promoting {
            return Err(promoting(&place));
        }
        candidate.promoting = true;
        Ok(Promotion { bind: candidate.bind.clone(), candidates: &self.candidates, place })
    }

    /// Ends a shadow, and says what it came to.
    ///
    /// [`Conflict`](ErrorKind::Conflict): it is being promoted.
    pub(in crate::runtime) fn drop_shadow(&self, pattern: &str, kind: Kind) -> Result<ShadowStatus> {
        let place = Place { pattern: pattern.to_owned(), kind };
        let mut candidates = self.candidates.0.lock();
        let status = self.shadow_of(&place)?;
        if candidates.get(&place).is_some_and(|candidate| candidate.promoting) {
            return Err(promoting(&place));
        }
        self.end(&place, &mut candidates);
        Ok(status)
    }

    fn end(&self, place: &Place, candidates: &mut BTreeMap<Place, Candidate>) {
        self.policies.drop_shadow(&place.pattern, place.kind);
        candidates.remove(place);
    }

    fn shadow_of(&self, place: &Place) -> Result<ShadowStatus> {
        let found = self.policies.shadows().into_iter().find(|shadow| shadow.pattern == place.pattern && shadow.kind == place.kind);
        found.ok_or_else(|| missing(place))
    }
}

fn missing(Place { pattern, kind }: &Place) -> Error {
    Error::new(ErrorKind::NotFound, format!("no {kind} candidate runs for exactly {pattern:?} on this host"))
}

fn promoting(Place { pattern, kind }: &Place) -> Error {
    let message = format!("the {kind} candidate for {pattern:?} is being promoted: look at it again once that is answered");
    Error::new(ErrorKind::Conflict, message)
}
