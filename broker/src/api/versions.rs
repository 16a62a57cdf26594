//! ApiVersions, and what becomes of requests that are not served.
//!
//! Every API is served in all the versions that the codec knows: a narrow range shuts clients out. A client
//! whose ApiVersions request is newer than ours gets error 35 in an answer of version 0, which any client can
//! read, with the ranges to choose from. Any other request that is not served cannot be answered: what its
//! answer looks like is unknown, so the connection is closed, as Kafka does.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiKey, ApiVersionsResponse};

use super::Call;
use crate::connection::Outcome;
use crate::wire::header::RequestHeader;
use crate::wire::schema;

/// The APIs that are served.
pub(super) const SERVED: [ApiKey; 28] = [
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
pub(super) fn response(error: i16) -> ApiVersionsResponse {
    let served = SERVED.map(|api| {
        let versions = schema::versions(api);
        ApiVersion::default().with_api_key(api as i16).with_min_version(versions.min).with_max_version(versions.max)
    });
    ApiVersionsResponse::default().with_error_code(error).with_api_keys(served.to_vec())
}
