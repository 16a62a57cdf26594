//! Consumer groups: the `[broker.groups]` table.

use serde::{Deserialize, Serialize};

/// Times and bounds of consumer groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GroupSettings {
    /// Shortest session time-out that a member may ask for, in milliseconds.
    pub session_timeout_min_ms: u32,
    /// Longest session time-out that a member may ask for, in milliseconds.
    pub session_timeout_max_ms: u32,
    /// Longest time that a rebalance waits for its members, in milliseconds, whatever they ask for.
    pub rebalance_timeout_max_ms: u32,
    /// How long a group that was empty waits for more members after the first, in milliseconds. More: a fleet that
    /// starts together rebalances once; less: a lone consumer gets its partitions sooner.
    pub initial_rebalance_delay_ms: u32,
    /// Groups with members at once.
    pub groups: u32,
    /// Members of a group.
    pub members_per_group: u32,
    /// Bytes of subscriptions and assignments of a group.
    pub bytes_per_group: u32,
    /// Bytes of what one member subscribes to, in all its protocols.
    pub subscription_bytes: u32,
    /// Bytes of the note that a client keeps with a committed offset.
    pub offset_metadata_bytes: u32,
    /// How long the offsets of a group without members are kept, in milliseconds.
    pub offsets_retention_ms: u64,
    /// How often offsets that nobody needs are looked for, in milliseconds.
    pub offsets_check_interval_ms: u64,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self {
            session_timeout_min_ms: 6_000,
            session_timeout_max_ms: 1_800_000,
            rebalance_timeout_max_ms: 1_800_000,
            initial_rebalance_delay_ms: 1_000,
            groups: 10_000,
            members_per_group: 1_000,
            bytes_per_group: 32 << 20,
            subscription_bytes: 256 << 10,
            offset_metadata_bytes: 4_096,
            offsets_retention_ms: 7 * 24 * 3_600_000,
            offsets_check_interval_ms: 600_000,
        }
    }
}

impl GroupSettings {
    /// Says what contradicts itself.
    pub(super) fn check(&self) -> Result<(), String> {
        let positive = [
            ("session_timeout_min_ms", u64::from(self.session_timeout_min_ms)),
            ("rebalance_timeout_max_ms", self.rebalance_timeout_max_ms.into()),
            ("groups", self.groups.into()),
            ("members_per_group", self.members_per_group.into()),
            ("offsets_check_interval_ms", self.offsets_check_interval_ms),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(format!("broker.groups.{name} is 0, expected at least 1"));
        }
        let (min, max) = (self.session_timeout_min_ms, self.session_timeout_max_ms);
        if min > max {
            return Err(format!("broker.groups.session_timeout_min_ms is {min}, more than session_timeout_max_ms = {max}"));
        }
        let (one, all) = (self.subscription_bytes, self.bytes_per_group);
        if one > all {
            return Err(format!("broker.groups.subscription_bytes is {one}, more than bytes_per_group = {all}"));
        }
        Ok(())
    }
}
