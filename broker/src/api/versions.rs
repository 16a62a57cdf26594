//! ApiVersions, and what becomes of requests that are not served.
//!
//! Every API is served in all the versions that the codec knows: a narrow range shuts clients out. A client
//! whose ApiVersions request is newer than ours gets error 35 in an answer of version 0, which any client can
//! read, with the ranges to choose from. Any other request that is not served cannot be answered: what its
//! answer looks like is unknown, so the connection is closed, as Kafka does. A client that says its name says it in
//! plain characters, or is told so.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse};

use super::Call;
use crate::connection::Outcome;
use crate::wire::header::RequestHeader;
use crate::wire::schema;

/// First version in which clients say what they are.
const NAMED: i16 = 3;

/// The APIs that are served.
pub(super) const SERVED: [ApiKey; 39] = [
    ApiKey::Produce,
    ApiKey::Fetch,
    ApiKey::ListOffsets,
    ApiKey::Metadata,
    ApiKey::ApiVersions,
    ApiKey::CreateTopics,
    ApiKey::DeleteTopics,
    ApiKey::InitProducerId,
    ApiKey::DescribeProducers,
    ApiKey::FindCoordinator,
    ApiKey::JoinGroup,
    ApiKey::SyncGroup,
    ApiKey::Heartbeat,
    ApiKey::LeaveGroup,
    ApiKey::OffsetCommit,
    ApiKey::OffsetFetch,
    ApiKey::ListGroups,
    ApiKey::DescribeGroups,
    ApiKey::DeleteGroups,
    ApiKey::OffsetDelete,
    ApiKey::SaslHandshake,
    ApiKey::SaslAuthenticate,
    ApiKey::DescribeAcls,
    ApiKey::CreateAcls,
    ApiKey::DeleteAcls,
    ApiKey::DescribeUserScramCredentials,
    ApiKey::AlterUserScramCredentials,
    ApiKey::DescribeClientQuotas,
    ApiKey::DeleteRecords,
    ApiKey::OffsetForLeaderEpoch,
    ApiKey::DescribeConfigs,
    ApiKey::AlterConfigs,
    ApiKey::DescribeLogDirs,
    ApiKey::CreatePartitions,
    ApiKey::IncrementalAlterConfigs,
    ApiKey::DescribeCluster,
    ApiKey::DescribeTopicPartitions,
    ApiKey::ElectLeaders,
    ApiKey::ListConfigResources,
];

/// The API of a request, or what becomes of it if it is not served.
pub(super) fn negotiate(header: RequestHeader) -> Result<ApiKey, Outcome> {
    let Some(api) = SERVED.into_iter().find(|api| *api as i16 == header.api_key) else {
        return Err(Outcome::Close(format!("api key {} is not served", header.api_key)));
    };
    let versions = schema::versions(api);
    if (versions.min..=versions.max).contains(&header.version) {
        return Ok(api);
    }
    if api == ApiKey::ApiVersions {
        let call = Call { version: 0, correlation_id: header.correlation_id };
        return Err(call.answer(&response(ResponseError::UnsupportedVersion.code())));
    }
    Err(Outcome::Close(format!("{api:?} is served in versions {versions}, version {} was sent", header.version)))
}

/// The answer to ApiVersions.
pub(super) fn answer(version: i16, request: &ApiVersionsRequest) -> ApiVersionsResponse {
    let said = [&request.client_software_name, &request.client_software_version];
    if version >= NAMED && !said.into_iter().all(|text| is_plain(text)) {
        return ApiVersionsResponse::default().with_error_code(ResponseError::InvalidRequest.code());
    }
    response(0)
}

/// Letters, digits, and within them `-` and `.`: it may end up in a log or in a metric.
fn is_plain(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    outer(text.chars().next()) && outer(text.chars().next_back()) && text.chars().all(inner)
}

fn response(error: i16) -> ApiVersionsResponse {
    let served = SERVED.map(|api| {
        let versions = schema::versions(api);
        ApiVersion::default().with_api_key(api as i16).with_min_version(versions.min).with_max_version(versions.max)
    });
    ApiVersionsResponse::default().with_error_code(error).with_api_keys(served.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_name_themselves_in_plain_characters() {
        for good in ["a", "apache-kafka-java", "4.4.0", "rd.kafka-2"] {
            assert!(is_plain(good), "{good:?}");
        }
        for bad in ["", "-a", "a.", ".", "a b", "a\n", "\u{e4}", "a\0b", "${jndi}"] {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }
}
