//! DescribeConfigs: of topics, and of this broker.

use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym};
use kafka_protocol::messages::{DescribeConfigsRequest, DescribeConfigsResponse};
use kafka_protocol::protocol::StrBytes;

use super::alter_configs::{BROKER, TOPIC};
use super::told;
use crate::api::{Service, Session};
use crate::configs::{Entry, Synonym, broker, describe};
use crate::security::acl::{Operation, Resource};
use crate::topics::Refusal;

/// First version with types and documentation.
const TYPES: i16 = 3;

/// What a client wants to see of each config.
#[derive(Clone, Copy)]
struct Wanted {
    types: bool,
    synonyms: bool,
    documentation: bool,
}

impl Service {
    pub(super) async fn describe_configs(
        self: Arc<Self>,
        session: &Session,
        version: i16,
        request: DescribeConfigsRequest,
    ) -> DescribeConfigsResponse {
        let documentation = version >= TYPES && request.include_documentation;
        let wanted = Wanted { types: version >= TYPES, synonyms: request.include_synonyms, documentation };
        let mut results = Vec::with_capacity(request.resources.len());
        for resource in request.resources {
            let found = self.configs_of(session, &resource).await;
            results.push(result(resource, found, wanted));
        }
        DescribeConfigsResponse::default().with_results(results)
    }

    async fn configs_of(&self, session: &Session, resource: &DescribeConfigsResource) -> Result<Vec<Entry>, Refusal> {
        let name = resource.resource_name.as_str();
        match resource.resource_type {
            TOPIC => {
                let topic = self.topic_for(session, Operation::DescribeConfigs, name).await?;
                Ok(describe::topic(&topic, self.storage.settings(), &self.storage.bindings()))
            }
            BROKER if !self.may(session, Operation::DescribeConfigs, Resource::CLUSTER) => {
                self.authorized(session, Operation::DescribeConfigs, Resource::CLUSTER).map(|()| Vec::new())
            }
            // The defaults of all brokers, of which there are none that could be changed.
            BROKER if name.is_empty() => Ok(Vec::new()),
            BROKER => self.configs_of_broker(name),
            other => {
                let message = format!("resource type {other} has no configs here, expected {TOPIC} (topic) or {BROKER} (broker)");
                Err(Refusal::new(ResponseError::InvalidRequest, message))
            }
        }
    }

    fn configs_of_broker(&self, name: &str) -> Result<Vec<Entry>, Refusal> {
        let own = self.settings.node_id;
        match name.parse::<i32>() {
            Ok(node) if node == own => Ok(broker::entries(&self.settings, self.storage.settings())),
            Ok(node) => Err(Refusal::new(ResponseError::InvalidRequest, format!("broker {node} was asked for, this one is {own}"))),
            Err(_) => Err(Refusal::new(ResponseError::InvalidRequest, format!("broker {name:?} was asked for, expected a number"))),
        }
    }
}

fn result(resource: DescribeConfigsResource, found: Result<Vec<Entry>, Refusal>, wanted: Wanted) -> DescribeConfigsResult {
    let keys = resource.configuration_keys;
    let asked = |entry: &Entry| keys.as_ref().is_none_or(|keys| keys.iter().any(|key| key.as_str() == entry.name));
    let answer = DescribeConfigsResult::default().with_resource_type(resource.resource_type).with_resource_name(resource.resource_name);
    match found {
        Ok(entries) => answer.with_configs(entries.into_iter().filter(asked).map(|entry| shown(entry, wanted)).collect()),
        Err(refusal) => {
            let (code, message) = told(Err(refusal));
            answer.with_error_code(code).with_error_message(message)
        }
    }
}

fn shown(entry: Entry, wanted: Wanted) -> DescribeConfigsResourceResult {
    let mut answer = DescribeConfigsResourceResult::default()
        .with_name(StrBytes::from_static_str(entry.name))
        .with_value(Some(StrBytes::from_string(entry.value)))
        .with_read_only(entry.read_only)
        .with_config_source(entry.source as i8);
    if wanted.synonyms {
        answer = answer.with_synonyms(entry.synonyms.into_iter().map(synonym).collect());
    }
    if wanted.types {
        answer = answer.with_config_type(entry.kind);
    }
    if wanted.documentation { answer.with_documentation(Some(StrBytes::from_static_str(entry.documentation))) } else { answer }
}

fn synonym(Synonym { name, value, source }: Synonym) -> DescribeConfigsSynonym {
    let value = Some(StrBytes::from_string(value));
    DescribeConfigsSynonym::default().with_name(StrBytes::from_static_str(name)).with_value(value).with_source(source as i8)
}
