//! DescribeCluster: this broker, at the address that the client came through.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::{BrokerId, DescribeClusterRequest, DescribeClusterResponse};
use kafka_protocol::protocol::StrBytes;

use crate::api::{Service, Session};
use crate::security::acl::{Operation, Resource};

/// Kinds of endpoints that may be asked for.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

impl Service {
    pub(super) fn describe_cluster(&self, session: &Session, version: i16, request: &DescribeClusterRequest) -> DescribeClusterResponse {
        let answer = DescribeClusterResponse::default().with_cluster_id(StrBytes::from_string(self.settings.cluster_id.clone()));
        let asked = if version >= 1 { request.endpoint_type } else { BROKERS };
        let (error, problem) = match asked {
            BROKERS if !request.include_cluster_authorized_operations => return self.with_this_broker(answer, session),
            BROKERS => {
                let visible = self.may(session, Operation::Describe, Resource::CLUSTER);
                let operations = if visible { self.operations(session, Resource::CLUSTER) } else { 0 };
                return self.with_this_broker(answer, session).with_cluster_authorized_operations(operations);
            }
            CONTROLLERS => (ResponseError::MismatchedEndpointType, "controllers were asked for, this endpoint is a broker's".to_owned()),
            other => (ResponseError::UnsupportedEndpointType, format!("endpoint type {other} was asked for, expected {BROKERS} (brokers)")),
        };
        answer.with_error_code(error.code()).with_error_message(Some(StrBytes::from_string(problem)))
    }

    fn with_this_broker(&self, answer: DescribeClusterResponse, session: &Session) -> DescribeClusterResponse {
        let (node, endpoint) = (BrokerId(self.settings.node_id), &session.endpoint);
        let broker = DescribeClusterBroker::default()
            .with_broker_id(node)
            .with_host(StrBytes::from_string(endpoint.host.clone()))
            .with_port(endpoint.port.into());
        answer.with_controller_id(node).with_brokers(vec![broker])
    }
}
