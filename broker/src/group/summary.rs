//! What others are told of a group.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::member::Member;
use super::state::{Group, MemberId, State};
use crate::wire::reader::{Malformed, Reader};

/// A group as it is described.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) state: State,
    pub(crate) protocol_type: Arc<str>,
    /// Empty unless the group is stable.
    pub(crate) protocol: Arc<str>,
    pub(crate) members: Vec<MemberSummary>,
}

/// A member as it is described.
#[derive(Clone, Debug)]
pub(crate) struct MemberSummary {
    pub(crate) id: MemberId,
    pub(crate) instance: Option<Arc<str>>,
    pub(crate) client_id: Arc<str>,
    pub(crate) client_host: Arc<str>,
    /// Empty unless the group is stable, as is the assignment.
    pub(crate) metadata: Bytes,
    pub(crate) assignment: Bytes,
}

impl Group {
    /// Describes it.
    pub(crate) fn summary(&self) -> Summary {
        let protocol = self.protocol.clone().filter(|_| self.state == State::Stable);
        let member = |(id, member): (&MemberId, &Member)| MemberSummary {
            id: id.clone(),
            instance: member.instance.clone(),
            client_id: member.client.id.clone(),
            client_host: member.client.host.clone(),
            metadata: protocol.as_ref().and_then(|protocol| member.metadata(protocol)).cloned().unwrap_or_default(),
            assignment: protocol.as_ref().map(|_| member.assignment.clone()).unwrap_or_default(),
        };
        let members = self.members.iter().map(member).collect();
        let protocol_type = self.protocol_type.clone();
        Summary { state: self.state, protocol_type, members, protocol: protocol.unwrap_or_else(|| "".into()) }
    }

    /// Topics that some member may read: `None` if that cannot be told from what they subscribe to.
    pub(crate) fn subscribed(&self) -> Option<BTreeSet<String>> {
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        if &*self.protocol_type != "consumer" {
            return None;
        }
        let subscriptions = self.members.values().flat_map(|member| &member.protocols);
        let topics: Result<Vec<_>, _> = subscriptions.map(|protocol| subscribed_topics(&protocol.metadata)).collect();
        Some(topics.ok()?.into_iter().flatten().collect())
    }
}

/// The topics in a consumer's subscription: a version, and then an array of names in every version there is.
pub(crate) fn subscribed_topics(metadata: &[u8]) -> Result<Vec<String>, Malformed> {
    let mut reader = Reader::new(metadata);
    reader.i16()?;
    let count = reader.i32()?;
    let mut topics = Vec::new();
    for _ in 0..count {
        let at = reader.at();
        let len = reader.i16()?;
        let len = reader.length(at, len.into())?.unwrap_or(0);
        topics.push(String::from_utf8_lossy(reader.take(len)?).into_owned());
    }
    Ok(topics)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn topics_are_found_in_a_subscription() {
        let subscription = b"\0\x03\0\0\0\x02\0\x01a\0\x02bc\xff\xff\xff\xff\0\0\0\0";
        assert_eq!(subscribed_topics(subscription).unwrap(), ["a", "bc"]);
        assert!(subscribed_topics(b"\0\x03\x7f\xff\xff\xff\0\x01a").is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_subscriptions_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = subscribed_topics(&bytes);
        }
    }
}
