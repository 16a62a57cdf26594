//! The APIs of administrators: configs, partitions, records to delete, and what is told of the cluster.
//!
//! What changes a topic is done while the request is accepted, as creations are; what only looks goes on beside the next requests.

use std::sync::Arc;

use bytes::BytesMut;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::protocol::StrBytes;

use super::{Call, Service, Session, decode, later};
use crate::connection::Accepted;
use crate::topics::Refusal;
use crate::wire::reader::Malformed;
use crate::wire::schema;

mod alter_configs;
mod create_partitions;
mod delete_records;
mod describe_cluster;
mod describe_configs;
mod describe_log_dirs;
mod describe_topic_partitions;
mod elect_leaders;
mod list_config_resources;
mod offset_for_leader_epoch;
pub(super) mod policies;

/// The APIs of this folder.
pub(super) const SERVED: [ApiKey; 11] = [
    ApiKey::AlterConfigs,
    ApiKey::CreatePartitions,
    ApiKey::DeleteRecords,
    ApiKey::DescribeCluster,
    ApiKey::DescribeConfigs,
    ApiKey::DescribeLogDirs,
    ApiKey::DescribeTopicPartitions,
    ApiKey::ElectLeaders,
    ApiKey::IncrementalAlterConfigs,
    ApiKey::ListConfigResources,
    ApiKey::OffsetForLeaderEpoch,
];

impl Service {
    pub(super) async fn dispatch_admin(
        self: &Arc<Self>,
        api: ApiKey,
        session: Session,
        call: Call,
        frame: BytesMut,
        body: usize,
    ) -> Result<Accepted, Malformed> {
        let service = self.clone();
        let version = call.version;
        Ok(match api {
            ApiKey::AlterConfigs => {
                let request = decode(frame, body, version, &schema::ALTER_CONFIGS)?;
                Accepted::Now(call.answer(&Box::pin(self.alter_configs(&session, request)).await))
            }
            ApiKey::IncrementalAlterConfigs => {
                let request = decode(frame, body, version, &schema::INCREMENTAL_ALTER_CONFIGS)?;
                Accepted::Now(call.answer(&Box::pin(self.incremental_alter_configs(&session, request)).await))
            }
            ApiKey::CreatePartitions => {
                let request = decode(frame, body, version, &schema::CREATE_PARTITIONS)?;
                Accepted::Now(call.answer(&Box::pin(self.create_partitions(&session, request)).await))
            }
            ApiKey::DescribeConfigs => {
                let request = decode(frame, body, version, &schema::DESCRIBE_CONFIGS)?;
                later(async move { call.answer(&service.describe_configs(&session, version, request).await) })
            }
            ApiKey::DeleteRecords => {
                let request = decode(frame, body, version, &schema::DELETE_RECORDS)?;
                later(async move { call.answer(&service.delete_records(&session, request).await) })
            }
            ApiKey::DescribeCluster => {
                let request = decode(frame, body, version, &schema::DESCRIBE_CLUSTER)?;
                Accepted::Now(call.answer(&self.describe_cluster(&session, version, &request)))
            }
            ApiKey::DescribeLogDirs => {
                let request = decode(frame, body, version, &schema::DESCRIBE_LOG_DIRS)?;
                later(async move { call.answer(&service.describe_log_dirs(&session, version, request).await) })
            }
            ApiKey::DescribeTopicPartitions => {
                let request = decode(frame, body, version, &schema::DESCRIBE_TOPIC_PARTITIONS)?;
                later(async move { call.answer(&service.describe_topic_partitions(&session, request).await) })
            }
            ApiKey::ElectLeaders => {
                let request = decode(frame, body, version, &schema::ELECT_LEADERS)?;
                later(async move { call.answer(&service.elect_leaders(&session, request).await) })
            }
            ApiKey::ListConfigResources => {
                let request = decode(frame, body, version, &schema::LIST_CONFIG_RESOURCES)?;
                later(async move { call.answer(&service.list_config_resources(&session, version, &request).await) })
            }
            _ => {
                let request = decode(frame, body, version, &schema::OFFSET_FOR_LEADER_EPOCH)?;
                later(async move { call.answer(&service.offset_for_leader_epoch(&session, request).await) })
            }
        })
    }
}

/// Error code and message of an outcome.
fn told(outcome: Result<(), Refusal>) -> (i16, Option<StrBytes>) {
    match outcome {
        Ok(()) => (0, None),
        Err(Refusal { code, message }) => (code.code(), Some(StrBytes::from_string(message))),
    }
}
