//! Policy bindings over HTTP.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::api::{PolicyList, SetPolicy, UnsetPolicy};
use super::reply::{Body, Failure, Reply};
use super::to_its_end;
use crate::error::{Error, ErrorKind};
use crate::metadata::BindingSet;
use crate::runtime::{Bind, Storage};

/// Stands for whoever did not say who they are.
const UNNAMED: &str = "admin api";

pub(super) async fn list(State(storage): State<Storage>) -> Result<Reply<PolicyList>, Failure> {
    Ok(Reply::ok(answer(&storage, storage.bindings())?))
}

pub(super) async fn set(State(storage): State<Storage>, Body(body): Body<SetPolicy>) -> Result<Reply<PolicyList>, Failure> {
    let invalid = |e| Error::new(ErrorKind::InvalidInput, format!("field `component` is no base64: {e}"));
    let component = STANDARD.decode(&body.component).map_err(invalid)?.into();
    let SetPolicy { pattern, kind, source, config, by, .. } = body;
    let bind = Bind { pattern, kind, component, source, config, by: named(by) };
    let host = storage.clone();
    let bindings = to_its_end(async move { host.bind(bind).await }).await?;
    Ok(Reply::ok(answer(&storage, bindings)?))
}

pub(super) async fn unset(
    State(storage): State<Storage>,
    query: Result<Query<UnsetPolicy>, QueryRejection>,
) -> Result<Reply<PolicyList>, Failure> {
    let Query(UnsetPolicy { pattern, kind, by }) = query?;
    let host = storage.clone();
    let bindings = to_its_end(async move { host.unbind(&pattern, kind, &named(by)).await }).await?;
    Ok(Reply::ok(answer(&storage, bindings)?))
}

fn answer(storage: &Storage, bindings: BindingSet) -> Result<PolicyList, Failure> {
    let unshowable = |e| Error::new(ErrorKind::Unsupported, format!("the status of a binding cannot be shown: {e}"));
    let status = storage.policy_status().iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(unshowable)?;
    Ok(PolicyList { generation: bindings.generation, bindings: bindings.bindings, status })
}

fn named(by: String) -> String {
    if by.is_empty() { UNNAMED.to_owned() } else { by }
}
