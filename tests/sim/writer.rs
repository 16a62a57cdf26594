//! A writer: opens the lane, appends, trims, deletes, and is killed at any moment, again and again.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tidegate::log::lane::Lane;
use tidegate::log::{Shared, Topic};
use tidegate::record::testing::{TestRecord, batch_of, set};
use tidegate::types::PartitionId;

use crate::clients::{Clients, Session};
use crate::history::History;
use crate::{PARTITIONS, pause};

const LIVES: usize = 5;
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct Writer {
    rng: StdRng,
    topic: Arc<Topic>,
    history: Arc<History>,
    clients: Arc<Clients>,
}

impl Writer {
    pub(crate) fn new(seed: u64, topic: Arc<Topic>, history: Arc<History>, clients: Arc<Clients>) -> Self {
        Self { rng: StdRng::seed_from_u64(seed ^ 0x7772_6974_6572_0000), topic, history, clients }
    }

    pub(crate) async fn run(mut self, shared: Shared) {
        for _ in 0..LIVES {
            tokio::time::sleep(pause(&mut self.rng, 1_500)).await;
            // An opening may be killed at any await too.
            let life = Duration::from_millis(self.rng.random_range(1..4_000));
            let opening = Lane::open(shared.clone(), self.topic.clone(), 0);
            let Ok(Ok(lane)) = tokio::time::timeout(life, opening).await else { continue };
            self.history.opened();
            let session = self.history.new_id();
            let _ = tokio::time::timeout(life, self.live(&lane, session)).await;
            if !lane.leads() {
                self.history.fenced();
            }
            if self.rng.random_bool(0.2) {
                let _ = tokio::time::timeout(PATIENCE, lane.close()).await;
            }
            lane.abort();
        }
        self.history.duplicates(shared.metrics.lane.duplicates.get());
    }

    async fn live(&mut self, lane: &Arc<Lane>, session: Session) {
        while lane.leads() {
            match self.rng.random_range(0..14) {
                0 => self.trim(lane).await,
                1 => drop(tokio::time::timeout(PATIENCE, lane.maintain()).await),
                2 => drop(tokio::time::timeout(PATIENCE, lane.flush()).await),
                3..6 => tokio::time::sleep(pause(&mut self.rng, 120)).await,
                6..9 => self.append(lane).await,
                _ => self.clients.send(&mut self.rng, lane, session).await,
            }
        }
    }

    async fn append(&mut self, lane: &Arc<Lane>) {
        let partition = self.rng.random_range(0..PARTITIONS);
        let ids: Vec<_> = (0..self.rng.random_range(1..4)).map(|_| self.history.new_id()).collect();
        let records = ids.iter().map(|id| TestRecord { timestamp: 0, key: None, value: Some(id.to_be_bytes().to_vec()) }).collect();
        let Ok(appended) = lane.append(partition, set(&[batch_of(records)])).await else { return };
        let history = self.history.clone();
        tokio::spawn(async move {
            if appended.committed.wait().await.is_ok() {
                history.acked(partition, appended.base_offset, &ids);
            }
        });
    }

    async fn trim(&mut self, lane: &Arc<Lane>) {
        let partition: PartitionId = self.rng.random_range(0..PARTITIONS);
        let Ok(offsets) = lane.partition(partition).and_then(|p| p.offsets()) else { return };
        let up_to = self.rng.random_range(offsets.log_start..=offsets.high_watermark);
        self.history.trimming(partition, up_to);
        let _ = tokio::time::timeout(PATIENCE, lane.trim(partition, up_to)).await;
    }
}
