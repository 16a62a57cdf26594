//! ListGroups: groups with members here, and those that have only offsets.

use std::collections::BTreeMap;
use std::sync::Arc;

use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{ListGroupsRequest, ListGroupsResponse};
use kafka_protocol::protocol::StrBytes;

use super::text;
use crate::api::{Service, Session};
use crate::group::of_read;
use crate::security::acl::{Operation, Resource};

const STATES: i16 = 4;
const TYPES: i16 = 5;
/// The type of all groups: their members follow the protocol that every client speaks.
const CLASSIC: &str = "classic";
/// The state of a group that has only offsets.
const EMPTY: &str = "Empty";

impl Service {
    pub(super) async fn list_groups(self: Arc<Self>, session: Session, version: i16, request: &ListGroupsRequest) -> ListGroupsResponse {
        let mut groups: BTreeMap<String, (String, &'static str)> = BTreeMap::new();
        match self.storage.groups_with_offsets().await {
            Ok(stored) => groups.extend(stored.into_iter().map(|(group, offsets)| (group, (offsets.protocol_type.clone(), EMPTY)))),
            Err(error) => {
                tracing::warn!(%error, "groups not listed");
                return ListGroupsResponse::default().with_error_code(of_read(&error).code());
            }
        }
        groups.extend(self.groups.list().into_iter().map(|(group, kind, state)| (group.to_string(), (kind, state.name()))));
        if !self.may(&session, Operation::Describe, Resource::CLUSTER) {
            groups.retain(|group, _| self.may(&session, Operation::Describe, Resource::group(group)));
        }
        let wanted = |filter: &[StrBytes], value: &str| filter.is_empty() || filter.iter().any(|f| f.eq_ignore_ascii_case(value));
        let listed = groups.into_iter().filter(|(_, (_, state))| wanted(&request.states_filter, state));
        let listed = listed.filter(|_| wanted(&request.types_filter, CLASSIC));
        ListGroupsResponse::default().with_groups(listed.map(|(group, (kind, state))| entry(version, &group, &kind, state)).collect())
    }
}

fn entry(version: i16, group: &str, protocol_type: &str, state: &str) -> ListedGroup {
    let answer = ListedGroup::default().with_group_id(text(group).into()).with_protocol_type(text(protocol_type));
    let answer = if version >= STATES { answer.with_group_state(text(state)) } else { answer };
    if version >= TYPES { answer.with_group_type(text(CLASSIC)) } else { answer }
}
