//! Reading ahead: what the partition tells its streams, and the walk that carries out their orders.

use super::Partition;
use super::fetch::Gathered;
use crate::cache::{Access, ChunkRef, Prefetched};
use crate::error::Result;
use crate::policy::Context;
use crate::read_ahead::{Fetch, Frontier, Order, Surroundings};
use crate::types::{Offset, WINDOW};

impl Partition {
    /// How a fetch from `offset` goes through the cache.
    pub(super) fn access(&self, offset: Offset) -> Access {
        let admit = self.admits() && self.0.read_ahead.admits(offset);
        Access { admit, gather: self.lane_partitions() > 1 }
    }

    /// Whether what is read may enter the cache.
    pub(super) fn admits(&self) -> bool {
        self.0.topic.settings.load().cache_enabled
    }

    /// Tells the streams of a fetch, and begins what they order.
    pub(super) async fn after_fetch(&self, offset: Offset, got: &Gathered) {
        let fetch =
            Fetch { offset, next: Frontier { offset: got.next_offset, position: got.position }, bytes: got.len as u64, missed: got.missed };
        let sought = self.0.read_ahead.is_seek(offset);
        self.0.reading.lock().fetch(fetch.bytes, sought);
        let settings = self.0.topic.settings.load();
        if !settings.read_ahead_enabled || !settings.cache_enabled || got.len == 0 {
            return;
        }
        // A partition that cannot say how much there is has nothing to read ahead; its next fetch says why.
        let Ok(around) = self.surroundings(got.position).await else { return };
        let policy = || self.0.shared.policies.read_ahead(self.0.topic.name.as_str(), &self.context());
        let Some(order) = self.0.read_ahead.observe(fetch, around, policy) else { return };
        let stream = order.stream;
        let walker = self.clone();
        let walk = tokio::spawn(async move { walker.walk(order).await });
        self.0.read_ahead.walking(stream, walk.abort_handle());
    }

    /// Upkeep looks by: readers that are idle give their policies' instances back.
    pub fn rest(&self) {
        self.0.read_ahead.rest();
    }

    async fn surroundings(&self, position: u64) -> Result<Surroundings> {
        let total = self.total_bytes().await?;
        let mut state = self.0.state.lock();
        Ok(Surroundings {
            lag_bytes: total.saturating_sub(position),
            slice_bytes: state.slice_bytes,
            arrival_bytes_per_s: state.arrival.per_s(),
            limit_bytes: self.0.shared.settings.prefetch_bytes / 2,
        })
    }

    /// Asks for chunks from the order's place on, until it is filled, the log ends, or the budget is spent.
    async fn walk(&self, order: Order) {
        let (mut tickets, mut at) = (Vec::new(), order.from);
        let end = order.from.position + order.bytes;
        // An error is met again, and told, by the reader itself.
        while at.position < end
            && let Ok(Some(next)) = self.walk_extent(&order, at, end, &mut tickets).await
        {
            at = next;
        }
        self.0.read_ahead.walked(order.stream, at, tickets);
    }

    /// Asks for the chunks of one extent. `None`: go no further.
    async fn walk_extent(
        &self,
        order: &Order,
        at: Frontier,
        end: u64,
        tickets: &mut Vec<crate::cache::Ticket>,
    ) -> Result<Option<Frontier>> {
        let cache = &self.0.shared.cache;
        let Some(extent) = self.extent_at(at.offset).await? else { return Ok(None) };
        let layout = cache.layout(&extent.object, &extent.slice, self.lane_partitions() > 1).await?;
        for span in layout.span_of(at.offset)..layout.spans().len() {
            let place = layout.spans()[span];
            let position = extent.prior_bytes + (place.position - extent.slice.position);
            // The reader may have gone on since the order was given: what lies behind it is not loaded again.
            let Some(reader_at) = self.0.read_ahead.position_of(order.stream) else { return Ok(None) };
            if position + place.len <= reader_at {
                continue;
            }
            if position >= end {
                return Ok(Some(Frontier { offset: place.base_offset.max(at.offset), position }));
            }
            let chunk = ChunkRef { object: &extent.object, slice: &extent.slice, layout: &layout, span };
            match cache.prefetch(chunk, &order.reader, order.admit) {
                Prefetched::Needless => {}
                Prefetched::Issued(ticket) => tickets.push(ticket),
                Prefetched::Refused => return Ok(None),
            }
        }
        Ok(Some(Frontier { offset: extent.slice.next_offset, position: extent.prior_bytes + extent.slice.len }))
    }

    fn lane_partitions(&self) -> u32 {
        let topic = &self.0.topic;
        topic.partitions_of(topic.lane_of(self.0.partition)).count() as u32
    }

    fn context(&self) -> Context {
        let (topic, settings) = (&self.0.topic, self.0.topic.settings.load());
        Context {
            topic_partitions: topic.partitions(),
            lane_partitions: self.lane_partitions(),
            lanes: topic.lanes,
            window: WINDOW as u32,
            max_segment_bytes: settings.max_segment_bytes,
            max_age_us: settings.max_age_ms.saturating_mul(1_000),
            index_entry_bytes: crate::index::ENTRY_LEN as u32,
            read_ahead_slices: settings.read_ahead_segments,
            cache_bytes: self.0.shared.settings.cache_bytes,
            put_price_nano: self.0.shared.prices.put_nano,
            get_price_nano: self.0.shared.prices.get_nano,
        }
    }
}
