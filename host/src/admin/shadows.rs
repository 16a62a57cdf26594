//! Candidates that run beside live policies, over HTTP.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};

use super::api::{DropShadow, PolicyChange, PromoteShadow, SetPolicy, ShadowList};
use super::policies::{changed, named, wanted};
use super::reply::{Body, Failure, Reply};
use super::to_its_end;
use crate::error::{Error, ErrorKind};
use crate::policy::ShadowStatus;
use crate::runtime::Storage;

pub(super) async fn list(State(storage): State<Storage>) -> Result<Reply<ShadowList>, Failure> {
    shown(&storage.policy_shadows())
}

pub(super) async fn start(State(storage): State<Storage>, Body(body): Body<SetPolicy>) -> Result<Reply<ShadowList>, Failure> {
    shown(&[to_its_end(async move { storage.shadow(wanted(&storage, body).await?).await }).await?])
}

pub(super) async fn promote(State(storage): State<Storage>, Body(body): Body<PromoteShadow>) -> Result<Reply<PolicyChange>, Failure> {
    let PromoteShadow { pattern, kind, by } = body;
    changed(storage, move |host| async move { host.promote_shadow(&pattern, kind, &named(by)).await }).await
}

pub(super) async fn drop_one(
    State(storage): State<Storage>,
    query: Result<Query<DropShadow>, QueryRejection>,
) -> Result<Reply<ShadowList>, Failure> {
    let Query(DropShadow { pattern, kind }) = query?;
    shown(&[storage.drop_shadow(&pattern, kind)?])
}

fn shown(shadows: &[ShadowStatus]) -> Result<Reply<ShadowList>, Failure> {
    let unshowable = |e| Error::new(ErrorKind::Unsupported, format!("a shadow cannot be shown: {e}"));
    let shadows = shadows.iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(unshowable)?;
    Ok(Reply::ok(ShadowList { shadows }))
}
