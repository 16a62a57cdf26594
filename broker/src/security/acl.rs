//! The words of access rules, with their numbers in the protocol. Source: Kafka's `org.apache.kafka.common.acl` and `.resource`.

use serde::{Deserialize, Serialize};

/// The name of the one cluster, as Kafka's tools give it.
pub(crate) const CLUSTER: &str = "kafka-cluster";
/// A resource name, or a host, that stands for all.
pub(crate) const ANY: &str = "*";
/// The principal that stands for all users.
pub(crate) const EVERYBODY: &str = "User:*";

/// Makes a word of the protocol: its number, and its name in settings, metrics and the store.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub(crate) enum $name { $($(#[$variant_doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// All of them, by number.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its number in the protocol.
            pub(crate) fn code(self) -> i8 {
                match self { $(Self::$variant => $code),+ }
            }

            /// Its name.
            #[allow(dead_code, reason = "not every kind of word is shown to people")]
            pub(crate) fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The one of a number.
            pub(crate) fn of_code(code: i8) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.code() == code)
            }
        }
    };
}

words! {
    /// What a rule is about.
    ResourceKind {
        Topic = 2 "topic",
        Group = 3 "group",
        Cluster = 4 "cluster",
        TransactionalId = 5 "transactional-id",
        DelegationToken = 6 "delegation-token",
        User = 7 "user",
    }
}

words! {
    /// How a rule names it.
    Pattern {
        /// By its whole name; `*` is every name.
        Literal = 3 "literal",
        /// By how its name begins.
        Prefixed = 4 "prefixed",
    }
}

words! {
    /// What is to be done.
    Operation {
        /// Whatever it is.
        All = 2 "all",
        Read = 3 "read",
        Write = 4 "write",
        Create = 5 "create",
        Delete = 6 "delete",
        Alter = 7 "alter",
        Describe = 8 "describe",
        ClusterAction = 9 "cluster-action",
        DescribeConfigs = 10 "describe-configs",
        AlterConfigs = 11 "alter-configs",
        IdempotentWrite = 12 "idempotent-write",
        CreateTokens = 13 "create-tokens",
        DescribeTokens = 14 "describe-tokens",
        TwoPhaseCommit = 15 "two-phase-commit",
    }
}

words! {
    /// What a rule says.
    Permission {
        Deny = 2 "deny",
        Allow = 3 "allow",
    }
}

impl ResourceKind {
    /// What can be done to it. Source: `AclEntry.supportedOperations` of Kafka.
    pub(crate) fn operations(self) -> &'static [Operation] {
        use Operation::*;
        match self {
            Self::Topic => &[Read, Write, Create, Describe, Delete, Alter, DescribeConfigs, AlterConfigs],
            Self::Group => &[Read, Describe, Delete, DescribeConfigs, AlterConfigs],
            Self::Cluster => &[Create, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite, Alter, Describe],
            Self::TransactionalId => &[Describe, Write, TwoPhaseCommit],
            Self::DelegationToken => &[Describe],
            Self::User => &[CreateTokens, DescribeTokens],
        }
    }
}

impl Operation {
    /// Whether a rule that allows `self` allows `wanted` as well: who may use a thing may see it.
    pub(crate) fn implies(self, wanted: Self) -> bool {
        match wanted {
            Self::Describe => matches!(self, Self::Read | Self::Write | Self::Delete | Self::Alter),
            Self::DescribeConfigs => self == Self::AlterConfigs,
            _ => false,
        }
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Acl {
    pub(crate) kind: ResourceKind,
    pub(crate) pattern: Pattern,
    /// Name of the resource, or how it begins.
    pub(crate) name: String,
    /// `User:name`, or `User:*` for everybody.
    pub(crate) principal: String,
    /// The client's address, or `*` for all.
    pub(crate) host: String,
    pub(crate) operation: Operation,
    pub(crate) permission: Permission,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resource<'a> {
    pub(crate) kind: ResourceKind,
    pub(crate) name: &'a str,
}

impl<'a> Resource<'a> {
    /// The cluster itself.
    pub(crate) const CLUSTER: Resource<'static> = Resource { kind: ResourceKind::Cluster, name: CLUSTER };

    pub(crate) fn topic(name: &'a str) -> Self {
        Self { kind: ResourceKind::Topic, name }
    }

    pub(crate) fn group(name: &'a str) -> Self {
        Self { kind: ResourceKind::Group, name }
    }
}
