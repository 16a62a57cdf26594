//! Listeners, and a stop that loses nobody's answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tidegate::Storage;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::admission::{Admission, Place};
use crate::api::{Endpoint, Service, Session};
use crate::config::{BrokerSettings, ListenerSettings};
use crate::connection::{Bounds, Pace, serve};

/// Pause after a failed accept: it fails again at once where file descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why a broker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The settings contradict themselves.
    #[error("{0}")]
    Settings(String),
    /// An address cannot be listened at.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}

/// A broker that is bound to its addresses.
pub struct Broker {
    service: Arc<Service>,
    listeners: Vec<Listener>,
    /// Bounds of each connection.
    bounds: Bounds,
    /// Connections that may still come.
    connections: Arc<Admission>,
    /// How long a stop may take.
    stop_within: Duration,
}

struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    /// What its clients are told to connect to.
    endpoint: Endpoint,
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
        Ok(Self {
            service: Arc::new(Service::new(storage, settings)),
            listeners,
            bounds,
            connections: Admission::new(limits.connections, limits.connections_per_address),
            stop_within: Duration::from_millis(limits.stop_ms),
        })
    }

    /// The addresses listened at, in the order of the settings.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|listener| listener.address).collect()
    }

    /// Serves clients until `stop` is cancelled; then takes no new requests, answers those in progress as far
    /// as they end within `limits.stop_ms`, and closes the connections. The storage stays open.
    pub async fn run(self, stop: CancellationToken) {
        let listening = join_all(self.listeners.iter().map(|listener| self.listen(listener, &stop)));
        tokio::join!(listening, self.service.groups().run(&stop));
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
        let place = match self.connections.admit(client.ip()) {
            Ok(place) => place,
            Err(full) => {
                warn!(%client, %full, "connection refused");
                return;
            }
        };
        let session = Session::new(listener.endpoint.clone(), client.ip(), stop.clone());
        let connection = Connection { service: self.service.clone(), bounds: self.bounds.clone(), session, _place: place };
        running.spawn(connection.run(socket, client, stop.clone()));
    }
}

/// What the task of a connection owns.
struct Connection {
    service: Arc<Service>,
    bounds: Bounds,
    session: Session,
    _place: Place,
}

impl Connection {
    async fn run(self, socket: TcpStream, client: SocketAddr, stop: CancellationToken) {
        if let Err(error) = socket.set_nodelay(true) {
            debug!(%client, %error, "answers may be delayed: TCP_NODELAY is not to be had");
        }
        let ended = serve(socket.into_split(), &self.service, &self.session, &self.bounds, &stop).await;
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
        Ok(Self { socket, address, endpoint: Endpoint { host, port } })
    }
}
