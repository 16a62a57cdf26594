//! Listeners, and a stop that loses nobody's answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tidegate::Storage;
use tidegate::env::now;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::admission::{Admission, Place};
use crate::api::{Endpoint, Service, Session};
use crate::config::{BrokerSettings, ListenerSettings, Mechanism};
use crate::connection::frame::{FrameError, MIN_FRAME};
use crate::connection::{Bounds, Ended, Pace, serve};
use crate::security::login::{Login, Probation};
use crate::security::probation::{Probationer, Strangers};
use crate::security::tls::{Seen, Tls};

/// Pause after a failed accept: it fails again at once where file descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why a broker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The settings contradict themselves.
    #[error("{0}")]
    Settings(String),
    /// An address cannot be listened at.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// A listener's certificate cannot be used.
    #[error("broker.listener.tls: {0}")]
    Tls(String),
    /// Users or access rules cannot be read.
    #[error("users and access rules cannot be read: {0}")]
    Security(#[from] tidegate::Error),
}

/// A broker that is bound to its addresses.
pub struct Broker {
    service: Arc<Service>,
    listeners: Vec<Listener>,
    /// Bounds of each connection.
    bounds: Bounds,
    /// Connections that may still come.
    connections: Arc<Admission>,
    /// Clients that may still come without being known.
    strangers: Strangers,
    /// How long a client may take until it is known.
    authentication: Duration,
    /// Largest request until then.
    unknown_frame: usize,
    /// How long a stop may take.
    stop_within: Duration,
}

struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    /// What its clients are told to connect to.
    endpoint: Endpoint,
    tls: Option<Arc<Tls>>,
    /// The certificate files in use.
    seen: Option<Seen>,
    sasl: Vec<Mechanism>,
}

impl Broker {
    /// Binds all listeners of the settings; clients are served from [`run`](Self::run) on.
    pub async fn bind(storage: Storage, settings: BrokerSettings) -> Result<Self, BindError> {
        settings.check().map_err(BindError::Settings)?;
        let mut listeners = Vec::new();
        for listener in &settings.listeners {
            listeners.push(Listener::bind(listener).await?);
        }
        let limits = settings.limits.clone();
        let bounds = Bounds {
            requests: limits.requests_per_connection as usize,
            bytes: limits.connection_bytes as usize,
            frame: limits.request_bytes as usize,
            total: Arc::new(Semaphore::new(limits.total_request_bytes as usize)),
            idle: Duration::from_millis(limits.idle_ms),
            pace: Pace { stall: Duration::from_millis(limits.stall_ms), slowest: limits.slowest_bytes_per_s },
        };
        let strangers = Strangers::new(limits.unauthenticated_connections, storage.metrics().clone());
        let service = Arc::new(Service::new(storage, settings));
        service.security().refresh().await?;
        Ok(Self {
            service,
            listeners,
            bounds,
            connections: Admission::new(limits.connections, limits.connections_per_address),
            strangers,
            authentication: Duration::from_millis(limits.authentication_ms),
            unknown_frame: limits.unauthenticated_request_bytes.min(limits.request_bytes) as usize,
            stop_within: Duration::from_millis(limits.stop_ms),
        })
    }

    /// The addresses listened at, in the order of the settings.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|listener| listener.address).collect()
    }

    /// Serves clients until `stop` is cancelled; then takes no new requests, answers those in progress as far
    /// as they end within `limits.stop_ms`, and closes the connections. The storage stays open.
    pub async fn run(mut self, stop: CancellationToken) {
        let certificates = join_all(self.followers(&stop));
        let listening = join_all(self.listeners.iter().map(|listener| self.listen(listener, &stop)));
        tokio::join!(listening, certificates, self.service.groups().run(&stop), self.service.security().run(&stop));
    }

    /// Looks after the certificates of the listeners.
    fn followers(&mut self, stop: &CancellationToken) -> Vec<impl Future<Output = ()> + use<>> {
        let interval = self.service.security().certificate_check();
        let metrics = self.service.security().metrics().clone();
        let with_files = self.listeners.iter_mut().filter_map(|listener| Some((listener.tls.clone()?, listener.seen.take()?)));
        let follow = |(tls, seen): (Arc<Tls>, Seen)| {
            let (metrics, stop) = (metrics.clone(), stop.clone());
            async move { tls.follow(seen, interval, &metrics, &stop).await }
        };
        with_files.map(follow).collect()
    }

    async fn listen(&self, listener: &Listener, stop: &CancellationToken) {
        info!(address = %listener.address, advertised = %listener.endpoint, "kafka clients are served");
        let mut running = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = running.join_next() => {}
                accepted = listener.socket.accept() => match accepted {
                    Ok((socket, client)) => self.admit(socket, client, listener, stop, &mut running),
                    Err(error) => {
                        warn!(address = %listener.address, %error, "connection not accepted");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        if timeout(self.stop_within, async { while running.join_next().await.is_some() {} }).await.is_err() {
            warn!(connections = running.len(), "connections cut off: their requests did not end in time");
        }
    }

    fn admit(&self, socket: TcpStream, client: SocketAddr, listener: &Listener, stop: &CancellationToken, running: &mut JoinSet<()>) {
        let refused = |reason: &'static str, full: &dyn std::fmt::Display| {
            self.service.security().metrics().security.refused_connection(reason);
            warn!(%client, %full, "connection refused");
        };
        let place = match self.connections.admit(client.ip()) {
            Ok(place) => place,
            Err(full) => return refused(full.limit(), &full),
        };
        let unknown = match listener.asks().then(|| self.strangers.admit()).transpose() {
            Ok(unknown) => unknown,
            Err(full) => return refused("unauthenticated_connections", &full),
        };
        let probation = Probation { frame: MIN_FRAME..=self.unknown_frame.max(MIN_FRAME), until: now() + self.authentication };
        let connection = Connection {
            service: self.service.clone(),
            bounds: self.bounds.clone(),
            endpoint: listener.endpoint.clone(),
            tls: listener.tls.clone(),
            sasl: listener.sasl.clone(),
            client,
            probation,
            _place: place,
        };
        running.spawn(connection.run(socket, unknown, stop.clone()));
    }
}

/// What the task of a connection owns.
struct Connection {
    service: Arc<Service>,
    bounds: Bounds,
    endpoint: Endpoint,
    tls: Option<Arc<Tls>>,
    sasl: Vec<Mechanism>,
    client: SocketAddr,
    probation: Probation,
    _place: Place,
}

impl Connection {
    async fn run(self, socket: TcpStream, unknown: Option<Probationer>, stop: CancellationToken) {
        let client = self.client;
        if let Err(error) = socket.set_nodelay(true) {
            debug!(%client, %error, "answers may be delayed: TCP_NODELAY is not to be had");
        }
        let Some(tls) = &self.tls else { return self.serve(socket.into_split(), unknown, stop).await };
        let agreed = timeout_at(self.probation.until, stop.run_until_cancelled(tls.accept(socket))).await;
        let problem = match agreed {
            Ok(Some(Ok(stream))) => return Box::pin(self.serve(tokio::io::split(stream), unknown, stop)).await,
            Ok(Some(Err(error))) => error.to_string(),
            Ok(None) => return,
            Err(_) => "it took too long (broker.limits.authentication_ms)".to_owned(),
        };
        self.service.security().metrics().security.refused_connection("tls");
        debug!(%client, problem, "connection ended before it was encrypted");
    }

    async fn serve(self, socket: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin), unknown: Option<Probationer>, stop: CancellationToken) {
        let login = match unknown {
            Some(slot) if !self.sasl.is_empty() => Login::asked(self.sasl, self.probation, slot),
            encrypted => {
                drop(encrypted);
                Login::anonymous()
            }
        };
        let client = self.client;
        let session = Session::new(self.endpoint, client.ip(), login, stop.clone());
        let ended = serve(socket, &self.service, &session, &self.bounds, &stop).await;
        if matches!(ended, Ended::Frame(FrameError::Unauthenticated)) {
            self.service.security().metrics().security.refused_connection("authentication_timeout");
        }
        debug!(%client, %ended, "connection ended");
    }
}

impl Listener {
    async fn bind(settings: &ListenerSettings) -> Result<Self, BindError> {
        let failed = |source| BindError::Listen { address: settings.listen, source };
        let socket = TcpListener::bind(settings.listen).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let host = match &settings.advertised_host {
            Some(host) => host.clone(),
            None if address.ip().is_unspecified() => {
                let problem =
                    format!("broker.listener.listen = {address} is no address to connect to: set broker.listener.advertised_host");
                return Err(BindError::Settings(problem));
            }
            None => address.ip().to_string(),
        };
        let port = settings.advertised_port.unwrap_or(address.port());
        let (tls, seen) = match &settings.tls {
            Some(tls) => Tls::open(tls.clone()).await.map(|(tls, seen)| (Some(Arc::new(tls)), Some(seen))).map_err(BindError::Tls)?,
            None => (None, None),
        };
        Ok(Self { socket, address, endpoint: Endpoint { host, port }, tls, seen, sasl: settings.sasl.clone() })
    }

    /// Whether its clients have to say something of themselves before they are served.
    fn asks(&self) -> bool {
        self.tls.is_some() || !self.sasl.is_empty()
    }
}
