//! What an operator asks for: bind, unbind, roll back.
//!
//! Whatever takes long or may be refused happens before the turn, on what was asked for alone; in its turn a request edits the set that is
//! stored then. A refusal changes nothing but the history.

use std::sync::Arc;

use super::attempts::Wanted;
use super::change::{self, Author};
use super::turns::{Standing, Ticket};
use super::{Bindings, active};
use crate::config::Pattern;
use crate::error::{Error, ErrorKind, Result};
use crate::metadata::{Action, Binding, BindingSet, Place};
use crate::policy::guard::Start;
use crate::policy::wasm::{LoadError, digest, verify_digest};
use crate::policy::{ActiveBinding, FaultClass, Kind, PolicySource};
use crate::runtime::api::{Bind, BindingChange, RollBack};
use crate::store::StoreError;

/// Largest config of a binding as JSON, in bytes: the history keeps it.
const MAX_CONFIG: usize = 16 << 10;

impl Bindings {
    /// Checks, tries out, stores and binds.
    pub(in crate::runtime) async fn bind(&self, bind: Bind) -> Result<BindingChange> {
        let mut wanted = Wanted::of(&bind);
        let ticket = self.turns.arrive(wanted.place.clone(), &bind.by);
        let outcome = self.try_bind(bind, &mut wanted, &ticket).await;
        self.told(Action::Set, outcome, wanted).await
    }

    /// Removes the binding of exactly this pattern and kind.
    pub(in crate::runtime) async fn unbind(&self, pattern: &str, kind: Kind, by: &str) -> Result<BindingChange> {
        let place = Place { pattern: pattern.to_owned(), kind };
        let ticket = self.turns.arrive(place.clone(), by);
        let edit = |set: &BindingSet| match change::without(set, &place, self.author(by)) {
            // What would be unbound is still being checked: it is superseded.
            Err(e) if e.kind() == ErrorKind::NotFound && ticket.has_earlier() => Ok(None),
            other => other.map(Some),
        };
        let outcome = self.in_turn(&ticket, None, edit).await;
        self.told(Action::Unset, outcome, Wanted::nothing(place.clone(), by)).await
    }

    /// Brings back what a place held before its last change, or as of a generation.
    pub(in crate::runtime) async fn roll_back(&self, roll_back: RollBack) -> Result<BindingChange> {
        let RollBack { pattern, kind, to, by } = roll_back;
        let ticket = self.turns.arrive(Place { pattern, kind }, &by);
        let mut wanted = Wanted::nothing(ticket.place().clone(), &by);
        let outcome = self.try_roll_back(to, &mut wanted, &ticket).await;
        self.told(Action::Rollback, outcome, wanted).await
    }

    async fn try_bind(&self, bind: Bind, wanted: &mut Wanted, ticket: &Ticket) -> Result<BindingChange> {
        let place = ticket.place();
        let refused = |error| refused(place, error);
        let plugin = self.load_wanted(&bind, wanted).await?;
        let binding = Binding {
            pattern: bind.pattern,
            kind: bind.kind,
            digest: wanted.digest.clone(),
            source: bind.source,
            config: bind.config,
            by: bind.by,
            at_ms: self.env.unix_ms(),
            plugin: wanted.plugin.clone(),
            generation: 0,
            signed_by: self.signed_by(&wanted.digest, bind.signature.as_deref()).map_err(refused)?,
            signature: bind.signature.unwrap_or_default(),
        };
        let start = self.policies.trial(&active(&binding, Ok(plugin.clone())), &self.context).await.map_err(refused)?;
        self.components.keep(&binding.digest, bind.component).await?;
        let state = start.told();
        self.in_turn(ticket, Some(plugin), |set| Ok(change::with(set, &binding).map(|next| change::noting(next, &state)))).await
    }

    /// Does with a request all that comes before the turn, and forgets it.
    pub(in crate::runtime) async fn try_out(&self, bind: &Bind) -> Result<()> {
        let mut wanted = Wanted::of(bind);
        let plugin = self.load_wanted(bind, &mut wanted).await?;
        let Bind { pattern, kind, config, source, .. } = bind.clone();
        let candidate = ActiveBinding { pattern, kind, plugin: Ok(plugin), config, source };
        self.policies.trial(&candidate, &self.context).await.map(drop).map_err(|error| refused(&wanted.place, error))
    }

    /// The plugin that a request names, checked as far as that goes without a decision.
    pub(super) async fn load_wanted(&self, bind: &Bind, wanted: &mut Wanted) -> Result<Arc<dyn PolicySource>> {
        let place = wanted.place.clone();
        let refused = |error| refused(&place, error);
        if let Some(pinned) = &bind.digest {
            verify_digest(&bind.component, pinned).map_err(refused)?;
        }
        self.signed_by(&wanted.digest, bind.signature.as_deref()).map_err(refused)?;
        Pattern::new(&bind.pattern)?;
        wanted.bounded_config().map_err(refused)?;
        let plugin: Arc<dyn PolicySource> = self.policies.check_and_load(bind.component.clone()).await.map_err(refused)?;
        plugin.name().clone_into(&mut wanted.plugin);
        Ok(plugin)
    }

    /// Who vouches for a component, as far as this host cares.
    fn signed_by(&self, digest: &str, signature: Option<&str>) -> Result<String, LoadError> {
        self.trust.check(digest, signature).map(|signed| signed.0)
    }

    async fn try_roll_back(&self, to: Option<u64>, wanted: &mut Wanted, ticket: &Ticket) -> Result<BindingChange> {
        let place = ticket.place();
        let target = change::earlier(&self.metadata.bindings().await?.value, place, to)?;
        let (plugin, state) = match &target {
            Some(placed) => {
                wanted.take_over(&placed.binding);
                let (plugin, start) = self.tried(place, &placed.binding).await?;
                (Some(plugin), start.told())
            }
            None => (None, String::new()),
        };
        let by = wanted.by.clone();
        let edit = |set: &BindingSet| {
            let now = change::earlier(set, place, to)?;
            if !change::same(now.as_ref(), target.as_ref()) {
                return Err(changed_meanwhile(place));
            }
            Ok(change::back_to(set, place, now.as_ref(), self.author(&by)).map(|next| change::noting(next, &state)))
        };
        self.in_turn(ticket, plugin, edit).await
    }

    /// The plugin of a binding that was in force, tried out like a new one; and how its instances will take over.
    async fn tried(&self, place: &Place, binding: &Binding) -> Result<(Arc<dyn PolicySource>, Start)> {
        let signature = Some(binding.signature.as_str()).filter(|signature| !signature.is_empty());
        self.signed_by(&binding.digest, signature).map_err(|error| refused(place, error))?;
        let loaded = self.loaded(&*self.published.lock().await, binding);
        let plugin = match loaded {
            Some(plugin) => plugin,
            None => self.components.load(binding).await.map_err(|problem| {
                refused(place, LoadError::new(FaultClass::Unavailable, problem, "bind the component again from where it came"))
            })?,
        };
        let tried = self.policies.trial(&active(binding, Ok(plugin.clone())), &self.context).await;
        Ok((plugin, tried.map_err(|error| refused(place, error))?))
    }

    /// Changes the set once no later request for the same place is under way. The plugin is at hand for whatever the edit binds.
    async fn in_turn(
        &self,
        ticket: &Ticket,
        plugin: Option<Arc<dyn PolicySource>>,
        edit: impl Fn(&BindingSet) -> Result<Option<BindingSet>>,
    ) -> Result<BindingChange> {
        loop {
            if let Standing::Superseded(by) = ticket.settled().await {
                return Err(superseded(ticket.place(), &by));
            }
            let mut published = self.published.lock().await;
            // A later one may have come while this one waited for the lock.
            if ticket.standing() != Standing::First {
                continue;
            }
            plugin.iter().for_each(|plugin| published.kept.add(plugin.clone()));
            let change = self.replace(&mut published, &edit).await?;
            ticket.win();
            return Ok(change);
        }
    }

    /// Counts and logs what came of a request, and puts a refusal into the history.
    async fn told(&self, asked: Action, outcome: Result<BindingChange>, wanted: Wanted) -> Result<BindingChange> {
        let Wanted { place: Place { pattern, kind }, plugin, by, .. } = &wanted;
        let action = asked.as_str();
        let counted = match &outcome {
            Ok(BindingChange { set, changed }) => {
                tracing::info!(pattern, %kind, by, plugin, action, generation = set.generation, changed, "a binding was asked to change");
                if *changed { action } else { "unchanged" }
            }
            Err(error) if is_refusal(error) => {
                tracing::warn!(pattern, %kind, by, plugin, action, %error, "a binding stays as it was");
                self.attempted(&wanted, error).await
            }
            Err(_) => "failed",
        };
        self.metrics.runtime.binding_request(counted);
        outcome
    }

    /// Puts a refusal into the history, and says how it is called there.
    async fn attempted(&self, wanted: &Wanted, error: &Error) -> &'static str {
        let mut published = self.published.lock().await;
        let generation = self.in_force.read().generation;
        let attempt = wanted.failed(error, generation, self.env.unix_ms());
        let action = attempt.action.as_str();
        self.attempts.add(attempt);
        if let Err(error) = self.replace(&mut published, |_| Ok(None)).await {
            tracing::warn!(%error, "a refused policy is not in the stored history yet; the next change stores it along");
        }
        action
    }

    fn author<'a>(&self, by: &'a str) -> Author<'a> {
        Author { by, at_ms: self.env.unix_ms() }
    }
}

impl Wanted {
    pub(super) fn of(bind: &Bind) -> Self {
        Self {
            place: Place { pattern: bind.pattern.clone(), kind: bind.kind },
            plugin: String::new(),
            digest: digest(&bind.component),
            config: bind.config.clone(),
            source: bind.source.clone(),
            by: bind.by.clone(),
        }
    }

    fn nothing(place: Place, by: &str) -> Self {
        let config = serde_json::Value::Null;
        Self { place, plugin: String::new(), digest: String::new(), config, source: String::new(), by: by.to_owned() }
    }

    fn take_over(&mut self, binding: &Binding) {
        let Binding { plugin, digest, config, source, .. } = binding.clone();
        (self.plugin, self.digest, self.config, self.source) = (plugin, digest, config, source);
    }

    /// Refuses a config that is too large for the history, and forgets it.
    fn bounded_config(&mut self) -> Result<(), LoadError> {
        let size = self.config.to_string().len();
        if size <= MAX_CONFIG {
            return Ok(());
        }
        self.config = serde_json::Value::Null;
        let problem = format!("the config has {size} bytes as JSON, at most {MAX_CONFIG} are allowed");
        Err(LoadError::new(FaultClass::ConfigRejected, problem, "keep what is large in the component"))
    }
}

/// Whether the request itself is at fault, or lost to another one; not the store, nor the hour.
fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Conflict) && error.cause::<StoreError>().is_none()
}

/// The error of a refusal: its cause has the class.
pub(super) fn refused(place: &Place, error: LoadError) -> Error {
    let kind = Error::from(error.clone()).kind();
    Error::new(kind, format!("this request left the {} policy of {:?} as it was", place.kind, place.pattern)).with_source(error)
}

fn superseded(place: &Place, by: &str) -> Error {
    let by = if by.is_empty() { "somebody" } else { by };
    lost_to(place, format!("a later request of {by} for the same pattern and kind won"))
}

fn changed_meanwhile(place: &Place) -> Error {
    lost_to(place, "another host changed the same pattern and kind meanwhile".to_owned())
}

fn lost_to(place: &Place, problem: String) -> Error {
    refused(place, LoadError::new(FaultClass::Superseded, problem, "look at the history before trying again"))
}
