//! Settings of the broker: the `[broker]` table of the settings file.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

mod groups;
mod security;

pub use groups::GroupSettings;
pub(crate) use security::ITERATIONS;
pub use security::{Mechanism, SecuritySettings, TlsSettings};

/// Everything that the protocol side takes from its settings file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BrokerSettings {
    /// This broker's number in the cluster, told to clients.
    pub node_id: i32,
    /// The cluster's name, told to clients; some refuse to go on if it changes.
    pub cluster_id: String,
    /// Creates a topic with the defaults when a client names one that does not exist.
    pub auto_create_topics: bool,
    /// Addresses to listen at; at least one.
    #[serde(rename = "listener")]
    pub listeners: Vec<ListenerSettings>,
    /// Bounds.
    pub limits: Limits,
    /// Consumer groups.
    pub groups: GroupSettings,
    /// Who clients are, and what they may do.
    pub security: SecuritySettings,
}

impl Default for BrokerSettings {
    fn default() -> Self {
        Self {
            node_id: 0,
            cluster_id: "tidegate".into(),
            auto_create_topics: true,
            listeners: vec![ListenerSettings::default()],
            limits: Limits::default(),
            groups: GroupSettings::default(),
            security: SecuritySettings::default(),
        }
    }
}

/// One address to listen at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListenerSettings {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Host name or address that clients of this listener are told to connect to; without it, the address
    /// listened at, which must then be a definite one.
    pub advertised_host: Option<String>,
    /// Port that clients of this listener are told to connect to; without it, the one listened at.
    pub advertised_port: Option<u16>,
    /// Encrypts its connections; without it they are plain.
    pub tls: Option<TlsSettings>,
    /// How its clients may say who they are; they then must. Without any, they are `User:ANONYMOUS`.
    pub sasl: Vec<Mechanism>,
}

impl Default for ListenerSettings {
    fn default() -> Self {
        Self { listen: ([127, 0, 0, 1], 9092).into(), advertised_host: None, advertised_port: None, tls: None, sasl: Vec::new() }
    }
}

/// Bounds on what clients can make the broker hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Largest request, in bytes; a longer one closes its connection.
    pub request_bytes: u32,
    /// Connections at once; more are closed as they come.
    pub connections: u32,
    /// Connections at once from one address (IPv6: from one /64); more are closed as they come.
    pub connections_per_address: u32,
    /// Connections at once whose clients have to authenticate, or to agree on encryption, and have not yet.
    pub unauthenticated_connections: u32,
    /// How long a client may take to agree on encryption and to authenticate, in milliseconds.
    pub authentication_ms: u64,
    /// Largest request of a client that has to authenticate and has not yet, in bytes.
    pub unauthenticated_request_bytes: u32,
    /// Requests of one connection that were read and are not answered yet. More: one connection gets more
    /// commits in flight; less: less waits behind a slow one.
    pub requests_per_connection: u32,
    /// Bytes of the requests of one connection that were read and are not in the host's care yet.
    pub connection_bytes: u32,
    /// The same over all connections; what has been appended counts against the host's own buffer.
    pub total_request_bytes: u32,
    /// Bytes of records in one fetch answer, whatever the client asks for; one batch may be larger.
    pub fetch_bytes: u32,
    /// Bytes of records in fetch answers that are not written yet, over all connections. When they are used
    /// up, fetches wait, and after a second are answered without records.
    pub total_fetch_bytes: u32,
    /// Longest wait of a fetch for records, in milliseconds, whatever the client asks for.
    pub fetch_wait_ms: u32,
    /// Incremental fetch sessions at once; 0 keeps none. A client without one names all its partitions in each fetch.
    pub fetch_sessions: u32,
    /// Bytes of all fetch sessions: 256 for each partition that a client follows, and the name of its topic.
    pub fetch_session_bytes: u32,
    /// A fetch session that was silent for longer makes room for others first; one that is younger gives way to
    /// none, in milliseconds.
    pub fetch_session_quiet_ms: u64,
    /// Most partitions of a topic that a client creates.
    pub partitions_per_topic: u32,
    /// A connection without a request for so long is closed, in milliseconds.
    pub idle_ms: u64,
    /// A connection whose half-sent request, or half-taken answer, does not move for so long is closed, in milliseconds.
    pub stall_ms: u64,
    /// A connection whose request comes, or whose answer is taken, at fewer bytes a second than this, behind a first
    /// `stall_ms`, is closed: half-sent requests hold room that others wait for.
    pub slowest_bytes_per_s: u32,
    /// How long the requests in progress may take after a stop, in milliseconds.
    pub stop_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 100 << 20,
            connections: 10_000,
            connections_per_address: 10_000,
            unauthenticated_connections: 1_000,
            authentication_ms: 10_000,
            unauthenticated_request_bytes: 64 << 10,
            requests_per_connection: 64,
            connection_bytes: 128 << 20,
            total_request_bytes: 512 << 20,
            fetch_bytes: 55 << 20,
            total_fetch_bytes: 512 << 20,
            fetch_wait_ms: 60_000,
            fetch_sessions: 1_000,
            fetch_session_bytes: 128 << 20,
            fetch_session_quiet_ms: 120_000,
            partitions_per_topic: 10_000,
            idle_ms: 600_000,
            stall_ms: 60_000,
            slowest_bytes_per_s: 16_384,
            stop_ms: 10_000,
        }
    }
}

impl BrokerSettings {
    /// Says what contradicts itself.
    pub fn check(&self) -> Result<(), String> {
        let limits = &self.limits;
        let positive = [
            ("request_bytes", limits.request_bytes),
            ("connections", limits.connections),
            ("connections_per_address", limits.connections_per_address),
            ("slowest_bytes_per_s", limits.slowest_bytes_per_s),
            ("unauthenticated_connections", limits.unauthenticated_connections),
            ("unauthenticated_request_bytes", limits.unauthenticated_request_bytes),
            ("requests_per_connection", limits.requests_per_connection),
            ("fetch_bytes", limits.fetch_bytes),
            ("total_fetch_bytes", limits.total_fetch_bytes),
            ("partitions_per_topic", limits.partitions_per_topic),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(format!("broker.limits.{name} is 0, expected at least 1"));
        }
        for (name, value) in [("connection_bytes", limits.connection_bytes), ("total_request_bytes", limits.total_request_bytes)] {
            if value < limits.request_bytes {
                let request = limits.request_bytes;
                return Err(format!("broker.limits.{name} is {value}, less than one request of broker.limits.request_bytes = {request}"));
            }
        }
        if self.listeners.is_empty() {
            return Err("broker.listener is empty, expected at least one [[broker.listener]] with an address".into());
        }
        if self.node_id < 0 {
            return Err(format!("broker.node_id is {}, expected 0 or more", self.node_id));
        }
        self.security.check(&self.listeners)?;
        self.groups.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_agree_with_each_other() {
        BrokerSettings::default().check().unwrap();
    }

    #[test]
    fn settings_survive_their_file_format() {
        let settings = BrokerSettings::default();
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<BrokerSettings>(&text).unwrap(), settings);
        assert!(toml::from_str::<BrokerSettings>("nodeid = 1").unwrap_err().to_string().contains("nodeid"));
    }

    #[test]
    fn a_budget_below_one_request_is_refused() {
        let limits = Limits { connection_bytes: 10, request_bytes: 11, ..Limits::default() };
        let problem = BrokerSettings { limits, ..BrokerSettings::default() }.check().unwrap_err();
        assert!(problem.contains("connection_bytes"), "{problem}");
    }

    #[test]
    fn passwords_go_over_the_network_in_the_clear_only_where_that_is_stated() {
        let listener = |address: [u8; 4]| ListenerSettings {
            listen: (address, 9_092).into(),
            advertised_host: Some("kafka".into()),
            sasl: vec![Mechanism::Plain],
            ..ListenerSettings::default()
        };
        let with = |address| BrokerSettings { listeners: vec![listener(address)], ..BrokerSettings::default() };
        assert!(with([0, 0, 0, 0]).check().unwrap_err().contains("plain_without_tls"));
        with([127, 0, 0, 1]).check().unwrap();
        let security = SecuritySettings { plain_without_tls: true, ..SecuritySettings::default() };
        BrokerSettings { security, ..with([0, 0, 0, 0]) }.check().unwrap();
    }

    #[test]
    fn listeners_name_their_mechanisms_as_clients_do() {
        let text = "[[listener]]\nsasl = [\"SCRAM-SHA-512\", \"PLAIN\"]\ntls = { certificate = \"c.pem\", key = \"k.pem\" }";
        let settings: BrokerSettings = toml::from_str(text).unwrap();
        assert_eq!(settings.listeners[0].sasl, [Mechanism::ScramSha512, Mechanism::Plain]);
        assert_eq!(settings.listeners[0].tls.as_ref().unwrap().client_ca, None);
        assert!(toml::from_str::<BrokerSettings>("[[listener]]\nsasl = [\"NTLM\"]").is_err());
    }

    #[test]
    fn times_of_groups_that_contradict_each_other_are_refused() {
        let groups = GroupSettings { session_timeout_min_ms: 10, session_timeout_max_ms: 9, ..GroupSettings::default() };
        let problem = BrokerSettings { groups, ..BrokerSettings::default() }.check().unwrap_err();
        assert!(problem.contains("session_timeout_min_ms"), "{problem}");
    }
}
