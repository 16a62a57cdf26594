//! What an index policy is shown: the slice, and how its partition has been read.

use std::sync::Arc;

use parking_lot::Mutex;
use tidegate::env::Env;
use tidegate::policy::{ActiveBinding, Fault, IndexPolicy, IndexSpacing, IndexView, Infallible, InitRequest, Kind, Policy, PolicySource};
use tidegate::runtime::{FetchPartition, OffsetSpec};
use tidegate::{Settings, Storage};
use tidegate_tests::records::many;
use tidegate_tests::world::{START_MS, World, at, create, value};

/// A native policy that keeps what it was shown.
#[derive(Clone, Default)]
struct Spy(Arc<Mutex<Vec<IndexView>>>);

impl IndexPolicy for Spy {
    fn decide(&mut self, view: &IndexView) -> IndexSpacing {
        self.0.lock().push(*view);
        IndexSpacing { bytes: 32 << 10, records: u64::MAX, time_ms: u64::MAX }
    }
}

impl PolicySource for Spy {
    fn name(&self) -> &str {
        "spy"
    }
    fn version(&self) -> &str {
        "1"
    }
    fn digest(&self) -> &str {
        "spy"
    }
    fn kinds(&self) -> Vec<Kind> {
        vec![Kind::Index]
    }
    fn index(&self, _: &InitRequest<'_>) -> Result<Box<dyn Policy<tidegate::policy::Index>>, Fault> {
        Ok(Box::new(Infallible(self.clone())))
    }
}

async fn open(world: &World, spy: &Spy) -> Storage {
    let binding = ActiveBinding {
        pattern: "*".to_owned(),
        kind: Kind::Index,
        plugin: Ok(Arc::new(spy.clone())),
        config: serde_json::Value::Null,
        source: "native".to_owned(),
    };
    let settings: Settings = world.settings.clone();
    let host = Storage::builder(settings).store(Arc::new(world.store.clone())).env(Env::simulated(1, START_MS));
    host.policies(vec![binding]).reproducible().open().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_index_policy_sees_how_its_partition_is_read() {
    let (world, spy) = (World::default(), Spy::default());
    let host = open(&world, &spy).await;
    let topic = create(&host, "orders", 2, 1).await;
    let partition = at(&topic, 0);
    let flush = async || {
        for partition in [at(&topic, 0), at(&topic, 1)] {
            drop(host.append(partition, many((0..20).map(value))).await.unwrap());
        }
        host.flush(partition).await.unwrap();
    };
    flush().await;
    assert!(spy.0.lock().iter().all(|view| view.slice_records == 20 && (view.seeks_per_min, view.fetch_p50_bytes) == (0, 0)));
    let mut len = 0;
    for _ in 0..3 {
        len = host.fetch_one(FetchPartition { partition, offset: 10, max_bytes: 1 << 20 }, true).await.unwrap().len;
    }
    host.list_offset(partition, OffsetSpec::Timestamp(0)).await.unwrap();
    spy.0.lock().clear();
    flush().await;
    let seen = spy.0.lock().clone();
    let of = |view: &IndexView| (view.seeks_per_min > 0, view.time_lookups_per_min, view.fetch_p50_bytes);
    assert_eq!(seen.iter().map(of).collect::<Vec<_>>(), [(true, 1, len as u64), (false, 0, 0)], "each partition its own");
    assert_eq!(host.policy_status()[0].plugin, "spy");
}
