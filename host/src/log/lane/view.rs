//! What the flush policy of a lane sees.

use super::Inner;
use super::state::State;
use crate::config::TopicSettings;
use crate::env::Instant;
use crate::policy::{Context, FlushReason, FlushView};
use crate::types::{LaneId, WINDOW};

use super::super::{Shared, Topic};

/// What does not change while an instance lives.
pub(super) fn context(shared: &Shared, topic: &Topic, lane: LaneId) -> Context {
    let settings: &TopicSettings = &topic.settings.load();
    Context {
        topic_partitions: topic.partitions(),
        lane_partitions: topic.partitions_of(lane).count() as u32,
        lanes: topic.lanes,
        window: WINDOW as u32,
        max_segment_bytes: settings.max_segment_bytes,
        max_age_us: settings.max_age_ms * 1_000,
        index_entry_bytes: crate::index::ENTRY_LEN as u32,
        read_ahead_slices: if settings.read_ahead_enabled { settings.read_ahead_segments } else { 0 },
        cache_bytes: shared.settings.cache_bytes,
        put_price_nano: shared.prices.put_nano,
        get_price_nano: shared.prices.get_nano,
    }
}

impl Inner {
    /// The buffer as the policy sees it now; `None` if there is none.
    pub(super) fn flush_view(&self, state: &mut State, reason: FlushReason, now: Instant) -> Option<FlushView> {
        let (buffer, ticket) = state.buffer.as_ref()?;
        let (arrival_bytes_per_s, arrival_batches_per_s) = state.arrivals.per_second(now);
        Some(FlushView {
            reason,
            now_ms: now.saturating_duration_since(self.opened).as_millis() as u64,
            buffered_bytes: buffer.bytes(),
            buffered_records: buffer.records(),
            buffered_partitions: buffer.partitions(),
            oldest_age_us: now.saturating_duration_since(buffer.oldest()).as_micros() as u64,
            quiet_us: now.saturating_duration_since(buffer.newest()).as_micros() as u64,
            arrival_bytes_per_s,
            arrival_batches_per_s,
            waiting_acks: ticket.waiting(),
            uploads_in_flight: state.uploads(),
            upload_p50_us: state.uploads_us.percentile(50),
            ack_p99_us: state.acks_us.percentile(99),
            throttled_permille: self.shared.metrics.store.recent.stats().throttled_permille,
            pressure_permille: self.shared.buffers.permille(),
            topic_put_share_permille: self.topic.put_share_permille(self.id.lane, now),
        })
    }
}
