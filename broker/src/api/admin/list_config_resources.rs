//! ListConfigResources: what has configs here. In version 0 only client metrics are asked for, of which there are none.

use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_config_resources_response::ConfigResource;
use kafka_protocol::messages::{ListConfigResourcesRequest, ListConfigResourcesResponse};
use kafka_protocol::protocol::StrBytes;

use super::alter_configs::{BROKER, TOPIC};
use crate::api::{Service, Session};
use crate::errors;
use crate::security::acl::{Operation, Resource};

/// Types that Kafka has besides: loggers of brokers, client metrics, groups.
const EMPTY: [i8; 3] = [8, 16, 32];

impl Service {
    pub(super) async fn list_config_resources(
        self: Arc<Self>,
        session: &Session,
        version: i16,
        request: &ListConfigResourcesRequest,
    ) -> ListConfigResourcesResponse {
        let answer = ListConfigResourcesResponse::default();
        if let Err(error) = self.authorize(session, Operation::DescribeConfigs, Resource::CLUSTER) {
            return answer.with_error_code(error.code());
        }
        if version == 0 {
            return answer;
        }
        let asked = &request.resource_types;
        if asked.iter().any(|kind| ![TOPIC, BROKER].contains(kind) && !EMPTY.contains(kind)) {
            return answer.with_error_code(ResponseError::UnsupportedVersion.code());
        }
        let wanted = |kind: i8| asked.is_empty() || asked.contains(&kind);
        let resource = |kind, name| ConfigResource::default().with_resource_type(kind).with_resource_name(StrBytes::from_string(name));
        let mut resources = Vec::new();
        if wanted(TOPIC) {
            match self.storage.topics().await {
                Ok(topics) => resources.extend(topics.iter().map(|topic| resource(TOPIC, topic.name.to_string()))),
                Err(error) => return answer.with_error_code(errors::of(error.kind()).code()),
            }
        }
        if wanted(BROKER) {
            resources.push(resource(BROKER, self.settings.node_id.to_string()));
        }
        answer.with_config_resources(resources)
    }
}
