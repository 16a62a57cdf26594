//! DescribeAcls and DeleteAcls.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_acls_request::DeleteAclsFilter;
use kafka_protocol::messages::delete_acls_response::{DeleteAclsFilterResult, DeleteAclsMatchingAcl};
use kafka_protocol::messages::describe_acls_response::{AclDescription, DescribeAclsResource};
use kafka_protocol::messages::{DeleteAclsRequest, DeleteAclsResponse, DescribeAclsRequest, DescribeAclsResponse};
use kafka_protocol::protocol::StrBytes;

use super::text;
use crate::api::{Service, Session};
use crate::security::acl::{Acl, Operation, Resource};
use crate::security::filter::{Asked, Filter};
use crate::topics::Refusal;

impl Service {
    /// Whether the client may look at rules, or change them.
    pub(super) fn rules_for(&self, session: &Session, operation: Operation) -> Result<(), Refusal> {
        if !self.security.has_rules() {
            return Err(Refusal::new(ResponseError::SecurityDisabled, "No Authorizer is configured."));
        }
        self.authorized(session, operation, Resource::CLUSTER)
    }

    pub(super) fn describe_acls(&self, session: &Session, request: &DescribeAclsRequest) -> DescribeAclsResponse {
        let answer = DescribeAclsResponse::default().with_error_message(None);
        match self.find_acls(session, request) {
            Ok(found) => answer.with_resources(by_resource(found)),
            Err(refusal) => answer.with_error_code(refusal.code.code()).with_error_message(Some(text(refusal.message))),
        }
    }

    fn find_acls(&self, session: &Session, request: &DescribeAclsRequest) -> Result<Vec<Acl>, Refusal> {
        self.rules_for(session, Operation::Describe)?;
        let filter = Filter::read(Asked {
            kind: request.resource_type_filter,
            name: request.resource_name_filter.as_deref(),
            pattern: request.pattern_type_filter,
            principal: request.principal_filter.as_deref(),
            host: request.host_filter.as_deref(),
            operation: request.operation,
            permission: request.permission_type,
        });
        Ok(self.security.find(&filter.ok_or_else(unknown_words)?))
    }

    pub(super) async fn delete_acls(&self, session: &Session, request: &DeleteAclsRequest) -> DeleteAclsResponse {
        let results = match self.remove_acls(session, &request.filters).await {
            Ok(found) => found.into_iter().map(|found| result().with_matching_acls(found.into_iter().map(removed).collect())).collect(),
            Err(Refusal { code, message }) => {
                let refused = result().with_error_code(code.code()).with_error_message(Some(text(message)));
                vec![refused; request.filters.len()]
            }
        };
        DeleteAclsResponse::default().with_filter_results(results)
    }

    async fn remove_acls(&self, session: &Session, filters: &[DeleteAclsFilter]) -> Result<Vec<Vec<Acl>>, Refusal> {
        self.rules_for(session, Operation::Alter)?;
        let read = |filter: &DeleteAclsFilter| {
            let filter = Filter::read(Asked {
                kind: filter.resource_type_filter,
                name: filter.resource_name_filter.as_deref(),
                pattern: filter.pattern_type_filter,
                principal: filter.principal_filter.as_deref(),
                host: filter.host_filter.as_deref(),
                operation: filter.operation,
                permission: filter.permission_type,
            });
            filter.ok_or_else(unknown_words)
        };
        let filters = filters.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let removed = self.security.remove(&filters).await.map_err(|error| Refusal::of(&error))?;
        tracing::info!(by = session.login.principal(), rules = removed.iter().map(Vec::len).sum::<usize>(), "access rules removed");
        Ok(removed)
    }
}

pub(super) fn unknown_words() -> Refusal {
    Refusal::new(ResponseError::InvalidRequest, "a resource type, pattern type, operation or permission is unknown")
}

fn result() -> DeleteAclsFilterResult {
    DeleteAclsFilterResult::default().with_error_message(None)
}

/// Rules in order, those of one resource together.
fn by_resource(acls: Vec<Acl>) -> Vec<DescribeAclsResource> {
    let mut resources: Vec<DescribeAclsResource> = Vec::new();
    for acl in acls {
        let (kind, pattern, name): (_, _, StrBytes) = (acl.kind.code(), acl.pattern.code(), text(acl.name));
        let rule = AclDescription::default().with_principal(text(acl.principal)).with_host(text(acl.host));
        let rule = rule.with_operation(acl.operation.code()).with_permission_type(acl.permission.code());
        match resources.last_mut() {
            Some(last) if (last.resource_type, last.pattern_type) == (kind, pattern) && last.resource_name == name => last.acls.push(rule),
            _ => {
                let resource = DescribeAclsResource::default().with_resource_type(kind).with_resource_name(name);
                resources.push(resource.with_pattern_type(pattern).with_acls(vec![rule]));
            }
        }
    }
    resources
}

fn removed(acl: Acl) -> DeleteAclsMatchingAcl {
    let answer = DeleteAclsMatchingAcl::default().with_error_message(None).with_resource_type(acl.kind.code());
    let answer = answer.with_resource_name(text(acl.name)).with_pattern_type(acl.pattern.code()).with_principal(text(acl.principal));
    answer.with_host(text(acl.host)).with_operation(acl.operation.code()).with_permission_type(acl.permission.code())
}
