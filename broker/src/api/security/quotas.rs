//! DescribeClientQuotas: there are none. Kafka's tools ask for the quotas of users before they show their credentials.

use kafka_protocol::messages::{DescribeClientQuotasRequest, DescribeClientQuotasResponse};

use super::text;
use crate::api::{Service, Session};
use crate::security::acl::{Operation, Resource};

impl Service {
    pub(super) fn describe_quotas(&self, session: &Session, _: &DescribeClientQuotasRequest) -> DescribeClientQuotasResponse {
        let answer = DescribeClientQuotasResponse::default().with_error_message(None);
        match self.authorized(session, Operation::DescribeConfigs, Resource::CLUSTER) {
            Ok(()) => answer.with_entries(Some(Vec::new())),
            Err(refusal) => {
                let answer = answer.with_error_code(refusal.code.code()).with_error_message(Some(text(refusal.message)));
                answer.with_entries(None)
            }
        }
    }
}
