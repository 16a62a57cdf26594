//! AlterConfigs, which replaces all configs of a topic, and IncrementalAlterConfigs, which changes some.
//!
//! Everything is checked and policies are tried out before anything is changed. Then policies are bound, each a change of its own in
//! their history, and the topic's record is replaced.

use std::collections::BTreeMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::alter_configs_request::AlterConfigsResource as Replacement;
use kafka_protocol::messages::alter_configs_response::AlterConfigsResourceResponse as Replaced;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource as Alteration, AlterableConfig};
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse as Altered;
use kafka_protocol::messages::{
    AlterConfigsRequest, AlterConfigsResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::told;
use crate::api::{Service, Session};
use crate::configs::edit::{Changes, Op};
use crate::security::acl::{Operation, Resource};
use crate::topics::{Refusal, checked_name};

/// Numbers of resources.
pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;

type Asked<'a> = (i8, &'a str);

impl Service {
    pub(super) async fn alter_configs(&self, session: &Session, request: AlterConfigsRequest) -> AlterConfigsResponse {
        let once = counted(request.resources.iter().map(|r| (r.resource_type, r.resource_name.as_str())));
        let mut responses = Vec::with_capacity(request.resources.len());
        for resource in &request.resources {
            let asked = (resource.resource_type, resource.resource_name.as_str());
            let changes = replacement(resource);
            let (code, message) = told(self.alter(session, &once, asked, changes, request.validate_only).await);
            let answer = Replaced::default().with_resource_type(resource.resource_type).with_resource_name(resource.resource_name.clone());
            responses.push(answer.with_error_code(code).with_error_message(message));
        }
        AlterConfigsResponse::default().with_responses(responses)
    }

    pub(super) async fn incremental_alter_configs(
        &self,
        session: &Session,
        request: IncrementalAlterConfigsRequest,
    ) -> IncrementalAlterConfigsResponse {
        let once = counted(request.resources.iter().map(|r| (r.resource_type, r.resource_name.as_str())));
        let mut responses = Vec::with_capacity(request.resources.len());
        for resource in &request.resources {
            let asked = (resource.resource_type, resource.resource_name.as_str());
            let changes = alteration(resource);
            let (code, message) = told(self.alter(session, &once, asked, changes, request.validate_only).await);
            let answer = Altered::default().with_resource_type(resource.resource_type).with_resource_name(resource.resource_name.clone());
            responses.push(answer.with_error_code(code).with_error_message(message));
        }
        IncrementalAlterConfigsResponse::default().with_responses(responses)
    }

    async fn alter(
        &self,
        session: &Session,
        once: &BTreeMap<Asked<'_>, usize>,
        asked: Asked<'_>,
        changes: Result<Changes, Refusal>,
        only_check: bool,
    ) -> Result<(), Refusal> {
        if once.get(&asked).is_some_and(|times| *times > 1) {
            return Err(Refusal::new(ResponseError::InvalidRequest, "each resource must appear at most once"));
        }
        self.authorize_alteration(session, asked)?;
        check_resource(asked)?;
        let name = checked_name(asked.1)?;
        let changes = changes?;
        let edit = |topic: &mut _| changes.apply(topic);
        self.storage.plan_alteration(&name, edit).await?;
        let policies = self.plan_policies(session, &name, &changes.policies()).await?;
        if only_check {
            return Ok(());
        }
        let bound = policies.len();
        self.apply_policies(session, &name, policies).await?;
        self.storage.alter_topic(&name, edit).await.map(drop).map_err(|refusal: Refusal| match bound {
            0 => refusal,
            _ => Refusal::new(refusal.code, format!("policies of topic {name} were changed, but nothing else: {}", refusal.message)),
        })
    }
}

impl Service {
    fn authorize_alteration(&self, session: &Session, (kind, name): Asked<'_>) -> Result<(), Refusal> {
        match kind {
            TOPIC => self.authorized(session, Operation::AlterConfigs, Resource::topic(name)),
            _ => self.authorized(session, Operation::AlterConfigs, Resource::CLUSTER),
        }
    }
}

fn check_resource((kind, name): Asked<'_>) -> Result<(), Refusal> {
    let message = match kind {
        TOPIC => return Ok(()),
        BROKER => format!("the configs of broker {name:?} are read-only: change its settings file and restart it"),
        _ => format!("resource type {kind} has no configs here, expected {TOPIC} (topic)"),
    };
    Err(Refusal::new(ResponseError::InvalidRequest, message))
}

/// How often each resource is named.
fn counted<'a>(resources: impl Iterator<Item = Asked<'a>>) -> BTreeMap<Asked<'a>, usize> {
    let mut times = BTreeMap::new();
    resources.for_each(|resource| *times.entry(resource).or_default() += 1);
    times
}

fn replacement(resource: &Replacement) -> Result<Changes, Refusal> {
    let set = |name: &StrBytes, value: &Option<StrBytes>| Ok((name.to_string(), Op::Set(given(name, value.as_ref())?)));
    let asked = resource.configs.iter().map(|config| set(&config.name, &config.value)).collect::<Result<Vec<_>, Refusal>>()?;
    Ok(Changes::checked(asked)?.replacing())
}

fn alteration(resource: &Alteration) -> Result<Changes, Refusal> {
    let asked = resource.configs.iter().map(|config| Ok((config.name.to_string(), op(config)?))).collect::<Result<Vec<_>, Refusal>>()?;
    Changes::checked(asked)
}

fn op(config: &AlterableConfig) -> Result<Op, Refusal> {
    let value = || given(&config.name, config.value.as_ref());
    match config.config_operation {
        0 => Ok(Op::Set(value()?)),
        1 => Ok(Op::Delete),
        2 => Ok(Op::Append(value()?)),
        3 => Ok(Op::Subtract(value()?)),
        other => {
            let message = format!("operation {other} on config {}, expected 0 (set), 1 (delete), 2 (append) or 3 (subtract)", config.name);
            Err(Refusal::new(ResponseError::InvalidRequest, message))
        }
    }
}

fn given(name: &StrBytes, value: Option<&StrBytes>) -> Result<String, Refusal> {
    let missing = || Refusal::new(ResponseError::InvalidRequest, format!("config {name} is null: delete it to get its default"));
    value.map(StrBytes::to_string).ok_or_else(missing)
}
