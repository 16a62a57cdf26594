//! Policy bindings over HTTP.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::api::{HistoryQuery, PolicyChange, PolicyHistory, PolicyList, RollBackPolicy, SetPolicy, UnsetPolicy};
use super::reply::{Body, Failure, Reply};
use super::to_its_end;
use crate::error::{Error, ErrorKind, Result};
use crate::metadata::BindingSet;
use crate::policy::config_or_empty;
use crate::runtime::{Bind, BindingChange, RollBack, Storage};

/// Stands for whoever did not say who they are.
const UNNAMED: &str = "admin api";

pub(super) async fn list(State(storage): State<Storage>) -> Result<Reply<PolicyList>, Failure> {
    Ok(Reply::ok(shown(&storage, storage.bindings())?))
}

pub(super) async fn set(State(storage): State<Storage>, Body(body): Body<SetPolicy>) -> Result<Reply<PolicyChange>, Failure> {
    changed(storage, move |host| async move { host.bind(wanted(&host, body).await?).await }).await
}

/// What a request asks to be bound.
pub(super) async fn wanted(storage: &Storage, body: SetPolicy) -> Result<Bind> {
    let SetPolicy { pattern, kind, component, plugin, signature, source, config, by, digest } = body;
    let (by, config) = (named(by), config_or_empty(config));
    if plugin.is_empty() {
        let invalid = |e| Error::new(ErrorKind::InvalidInput, format!("field `component` is no base64: {e}"));
        let component = STANDARD.decode(&component).map_err(invalid)?.into();
        return Ok(Bind { pattern, kind, component, source, config, by, digest, signature });
    }
    if !component.is_empty() || signature.is_some() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "fields `component` and `signature` do not go with `plugin`: give bytes or a place",
        ));
    }
    let found = storage.fetch_component(&plugin, digest.as_deref()).await?;
    Ok(Bind { pattern, kind, component: found.bytes, source: found.source, config, by, digest, signature: found.signature })
}

pub(super) async fn unset(
    State(storage): State<Storage>,
    query: Result<Query<UnsetPolicy>, QueryRejection>,
) -> Result<Reply<PolicyChange>, Failure> {
    let Query(UnsetPolicy { pattern, kind, by }) = query?;
    changed(storage, move |host| async move { host.unbind(&pattern, kind, &named(by)).await }).await
}

pub(super) async fn roll_back(State(storage): State<Storage>, Body(body): Body<RollBackPolicy>) -> Result<Reply<PolicyChange>, Failure> {
    let RollBackPolicy { pattern, kind, to, by } = body;
    let roll_back = RollBack { pattern, kind, to, by: named(by) };
    changed(storage, move |host| async move { host.roll_back(roll_back).await }).await
}

pub(super) async fn history(
    State(storage): State<Storage>,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Reply<PolicyHistory>, Failure> {
    let Query(HistoryQuery { pattern, kind }) = query?;
    let mut history = storage.policy_history();
    history.retain(|change| pattern.as_ref().is_none_or(|p| change.pattern == *p) && kind.is_none_or(|k| change.kind == k));
    Ok(Reply::ok(PolicyHistory { generation: storage.bindings().generation, history }))
}

/// Runs a change of the bindings to its end, and shows what is bound then.
pub(super) async fn changed<F>(storage: Storage, change: impl FnOnce(Storage) -> F + Send + 'static) -> Result<Reply<PolicyChange>, Failure>
where
    F: Future<Output = Result<BindingChange>> + Send,
{
    let host = storage.clone();
    let BindingChange { set, changed } = to_its_end(async move { change(host).await }).await?;
    let last = set.history.iter().rfind(|change| changed && change.action.is_change());
    let state = last.map_or_else(String::new, |change| change.state.clone());
    Ok(Reply::ok(PolicyChange { changed, state, now: shown(&storage, set)? }))
}

fn shown(storage: &Storage, bindings: BindingSet) -> Result<PolicyList, Failure> {
    let unshowable = |e| Error::new(ErrorKind::Unsupported, format!("the status of a binding cannot be shown: {e}"));
    let status = storage.policy_status().iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(unshowable)?;
    Ok(PolicyList { generation: bindings.generation, bindings: bindings.bindings, status })
}

pub(super) fn named(by: String) -> String {
    if by.is_empty() { UNNAMED.to_owned() } else { by }
}
