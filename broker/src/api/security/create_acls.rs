//! CreateAcls: the good ones are stored together, each other one is refused by itself.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_acls_request::AclCreation;
use kafka_protocol::messages::create_acls_response::AclCreationResult;
use kafka_protocol::messages::{CreateAclsRequest, CreateAclsResponse};

use super::acls::unknown_words;
use super::text;
use crate::api::{Service, Session};
use crate::security::acl::{Acl, CLUSTER, Operation, Pattern, Permission, ResourceKind};
use crate::security::change::MAX_ACLS;
use crate::topics::Refusal;

/// Longest name of a resource, a principal or a host, in bytes.
const MAX_TEXT_BYTES: usize = 1_024;

impl Service {
    pub(super) async fn create_acls(&self, session: &Session, request: &CreateAclsRequest) -> CreateAclsResponse {
        let results = match self.rules_for(session, Operation::Alter) {
            Ok(()) => self.store_acls(session, &request.creations).await,
            Err(refusal) => vec![Err(refusal); request.creations.len()],
        };
        CreateAclsResponse::default().with_results(results.into_iter().map(result).collect())
    }

    async fn store_acls(&self, session: &Session, creations: &[AclCreation]) -> Vec<Result<(), Refusal>> {
        let read: Vec<Result<Acl, Refusal>> = creations.iter().map(read).collect();
        let good: Vec<Acl> = read.iter().flatten().cloned().collect();
        let stored = match good.is_empty() {
            true => Ok(()),
            false => self.store(session, good).await,
        };
        read.into_iter().map(|acl| acl.and_then(|_| stored.clone())).collect()
    }

    async fn store(&self, session: &Session, acls: Vec<Acl>) -> Result<(), Refusal> {
        let rules = acls.len();
        match self.security.add(acls).await {
            Ok(true) => {
                tracing::info!(by = session.login.principal(), rules, "access rules added");
                Ok(())
            }
            Ok(false) => Err(Refusal::new(ResponseError::PolicyViolation, format!("no more than {MAX_ACLS} access rules are kept"))),
            Err(error) => Err(Refusal::of(&error)),
        }
    }
}

fn result(created: Result<(), Refusal>) -> AclCreationResult {
    let answer = AclCreationResult::default().with_error_message(None);
    match created {
        Ok(()) => answer,
        Err(Refusal { code, message }) => answer.with_error_code(code.code()).with_error_message(Some(text(message))),
    }
}

fn read(asked: &AclCreation) -> Result<Acl, Refusal> {
    let invalid = |message: &str| Refusal::new(ResponseError::InvalidRequest, message);
    let acl = Acl {
        kind: ResourceKind::of_code(asked.resource_type).ok_or_else(unknown_words)?,
        pattern: Pattern::of_code(asked.resource_pattern_type).ok_or_else(unknown_words)?,
        name: asked.resource_name.to_string(),
        principal: asked.principal.to_string(),
        host: asked.host.to_string(),
        operation: Operation::of_code(asked.operation).ok_or_else(unknown_words)?,
        permission: Permission::of_code(asked.permission_type).ok_or_else(unknown_words)?,
    };
    let long = [&acl.name, &acl.principal, &acl.host].into_iter().any(|text| text.len() > MAX_TEXT_BYTES);
    if long {
        return Err(invalid("a name, principal or host is too long, expected at most 1024 bytes"));
    }
    if acl.name.is_empty() {
        return Err(invalid("Invalid empty resource name"));
    }
    if acl.kind == ResourceKind::Cluster && acl.name != CLUSTER {
        return Err(invalid("The only valid name for the CLUSTER resource is kafka-cluster"));
    }
    if acl.principal.split_once(':').is_none_or(|(kind, name)| kind.is_empty() || name.is_empty()) {
        return Err(invalid("a principal has the form User:NAME, User:* is everybody"));
    }
    if acl.host.is_empty() {
        return Err(invalid("a host is an address, or * for all"));
    }
    Ok(acl)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kind: i8, name: &str, principal: &str) -> AclCreation {
        let asked = AclCreation::default().with_resource_type(kind).with_resource_name(text(name)).with_resource_pattern_type(3);
        asked.with_principal(text(principal)).with_host(text("*")).with_operation(3).with_permission_type(3)
    }

    #[test]
    fn a_rule_that_could_never_match_is_refused() {
        assert_eq!(read(&asked(2, "t", "User:a")).unwrap().operation, Operation::Read);
        assert!(read(&asked(4, CLUSTER, "User:*")).is_ok());
        for wrong in [
            asked(2, "", "User:a"),
            asked(4, "other", "User:a"),
            asked(2, "t", "a"),
            asked(2, "t", "User:"),
            asked(1, "t", "User:a"),
            asked(2, "t", "User:a").with_operation(1),
            asked(2, "t", "User:a").with_permission_type(1),
            asked(2, "t", "User:a").with_resource_pattern_type(2),
            asked(2, "t", "User:a").with_host(text("")),
            asked(2, &"t".repeat(1_025), "User:a"),
        ] {
            assert_eq!(read(&wrong).unwrap_err().code, ResponseError::InvalidRequest, "{wrong:?}");
        }
    }
}
