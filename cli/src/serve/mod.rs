//! `tidegate serve`: a host, a broker on it and the admin API, until a signal.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use tidegate::config::WORKER_STACK_BYTES;
use tidegate::{Storage, admin};
use tidegate_broker::Broker;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::args::ServeArgs;
use crate::output::Output;
use crate::signals::Signals;

mod settings;

use settings::Config;

/// How often a stop says that it still goes on.
const PROGRESS: Duration = Duration::from_secs(1);

pub(crate) fn run(args: Box<ServeArgs>, output: &Output) -> Result<()> {
    let config = Config::from_args(&args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(WORKER_STACK_BYTES).build()?;
    // On a worker, whose stack is the one that limits on policies are made for.
    let served = runtime.block_on(async { tokio::spawn(Server::open(config)).await.context("the server panicked") })??;
    output.answer(&served.ready, Ready::text)?;
    runtime.block_on(served.until_stopped())
}

/// What is printed once clients are served.
#[derive(Debug, Serialize)]
struct Ready {
    event: &'static str,
    kafka: Vec<String>,
    admin: String,
    store: String,
}

impl Ready {
    fn text(&self) -> String {
        format!("tidegate is ready: kafka {}, admin {}, store {}", self.kafka.join(" "), self.admin, self.store)
    }
}

/// Everything that runs.
struct Server {
    ready: Ready,
    storage: Storage,
    signals: Signals,
    broker: JoinHandle<()>,
    broker_stop: CancellationToken,
    admin: JoinHandle<tidegate::Result<()>>,
    admin_stop: CancellationToken,
}

impl Server {
    async fn open(config: Config) -> Result<Self> {
        let Config { settings, broker } = config;
        // First, so that a signal while the store is opened is not lost.
        let signals = Signals::listen()?;
        let admin_settings = settings.admin.clone();
        let store = settings::store_name(&settings.store);
        let storage = Storage::builder(settings).open().await.context("the storage cannot be opened")?;
        let listener = TcpListener::bind(admin_settings.listen).await;
        let listener = listener.with_context(|| format!("admin.listen = {} cannot be listened at", admin_settings.listen))?;
        let broker = Broker::bind(storage.clone(), broker).await?;
        let ready = Ready {
            event: "ready",
            kafka: broker.addresses().iter().map(ToString::to_string).collect(),
            admin: format!("http://{}", listener.local_addr()?),
            store,
        };
        let (broker_stop, admin_stop) = (CancellationToken::new(), CancellationToken::new());
        let broker = tokio::spawn(broker.run(broker_stop.clone()));
        let admin = tokio::spawn(admin::run(listener, storage.clone(), admin_settings.token, admin_stop.clone()));
        Ok(Self { ready, storage, signals, broker, broker_stop, admin, admin_stop })
    }

    async fn until_stopped(mut self) -> Result<()> {
        let failure = tokio::select! {
            signal = self.signals.next() => {
                info!(signal, "stopping: what is buffered is committed first; a second signal ends the process at once");
                None
            }
            ended = &mut self.broker => Some(anyhow!("the broker ended by itself: {ended:?}")),
            ended = &mut self.admin => Some(anyhow!("the admin api ended by itself: {ended:?}")),
        };
        if let Some(failure) = &failure {
            error!(%failure, "stopping");
        }
        let stopped = self.stop().await;
        failure.map_or(stopped, Err)
    }

    /// Clients first, then what they left behind; the admin API answers as long as there is something to see.
    async fn stop(self) -> Result<()> {
        let Self { storage, mut signals, broker, broker_stop, admin, admin_stop, .. } = self;
        let drained = async {
            broker_stop.cancel();
            let drained = storage.drain().await;
            if !broker.is_finished() {
                drop(broker.await);
            }
            let closed = storage.close().await;
            admin_stop.cancel();
            if !admin.is_finished() {
                drop(admin.await);
            }
            drained.and(closed).context("not everything was committed")
        };
        tokio::select! {
            drained = with_progress(drained) => {
                info!(complete = drained.is_ok(), "stopped");
                drained
            }
            signal = signals.next() => Err(anyhow!("{signal} during the stop: what was not committed is lost")),
        }
    }
}

/// Logs that it goes on, until it is done.
async fn with_progress<T>(work: impl Future<Output = T>) -> T {
    let began = tidegate::env::now();
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(PROGRESS, &mut work).await {
            Ok(done) => return done,
            Err(_) => info!(seconds = began.elapsed().as_secs(), "draining"),
        }
    }
}
