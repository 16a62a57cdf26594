//! DeleteGroups: groups without members, with their offsets.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::{DeleteGroupsRequest, DeleteGroupsResponse};

use super::code;
use crate::api::{Service, Session};
use crate::group::of_commit;
use crate::security::acl::Operation;

impl Service {
    pub(super) async fn delete_groups(&self, session: &Session, request: DeleteGroupsRequest) -> DeleteGroupsResponse {
        let mut results = Vec::with_capacity(request.groups_names.len());
        for group in request.groups_names {
            let deleted = self.delete_group(session, &group).await;
            results.push(DeletableGroupResult::default().with_group_id(group).with_error_code(code(deleted)));
        }
        DeleteGroupsResponse::default().with_results(results)
    }

    async fn delete_group(&self, session: &Session, group: &str) -> Result<(), ResponseError> {
        self.group_for(session, Operation::Delete, group, true)?;
        let known = self.groups.delete(group)?;
        let deleted = self.storage.delete_group_offsets(group).await.map_err(|error| of_commit(&error))?;
        if known || deleted { Ok(()) } else { Err(ResponseError::GroupIdNotFound) }
    }
}
