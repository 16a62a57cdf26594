//! Frames: a length and so many bytes, each read straight into a buffer of its own.
//!
//! The buffer has exactly the frame's size, so a record set cut out of it reaches the host where the socket
//! put it. Before a buffer is made its length is checked against the limit, and room for it is taken in the
//! budgets of the connection and of the broker.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Bounds;

/// Shortest header: API key, version, correlation id.
const MIN_FRAME: usize = 8;

/// Why no frame can be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("frame length {length}, expected {MIN_FRAME} to {limit} bytes (broker.limits.request_bytes)")]
    Length { length: i32, limit: usize },
    #[error("connection ended after {read} of a frame's {expected} bytes")]
    CutShort { read: usize, expected: usize },
    #[error("no request for {0:?}")]
    Idle(Duration),
    #[error("a frame stood still for {0:?}")]
    Stalled(Duration),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A frame's room in the budgets.
#[derive(Debug)]
pub(crate) struct FrameRoom {
    _connection: OwnedSemaphorePermit,
    _total: OwnedSemaphorePermit,
}

/// Reads frames from a socket.
pub(crate) struct FrameReader<R> {
    socket: R,
    limit: usize,
    connection: Arc<Semaphore>,
    total: Arc<Semaphore>,
    idle: Duration,
    stall: Duration,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(socket: R, bounds: &Bounds) -> Self {
        Self {
            socket,
            limit: bounds.frame,
            connection: Arc::new(Semaphore::new(bounds.bytes)),
            total: bounds.total.clone(),
            idle: bounds.idle,
            stall: bounds.stall,
        }
    }

    /// The next frame without its length; `None` where the client ended the connection between two.
    pub(crate) async fn next(&mut self) -> Result<Option<(BytesMut, FrameRoom)>, FrameError> {
        let Some(len) = self.length().await? else { return Ok(None) };
        let room = self.room(len).await;
        let mut frame = BytesMut::with_capacity(len);
        self.fill(&mut frame, len, self.stall, FrameError::Stalled).await?;
        if frame.len() < len {
            return Err(FrameError::CutShort { read: frame.len(), expected: len });
        }
        Ok(Some((frame, room)))
    }

    async fn length(&mut self) -> Result<Option<usize>, FrameError> {
        let mut bytes = BytesMut::with_capacity(4);
        self.fill(&mut bytes, 4, self.idle, FrameError::Idle).await?;
        match <[u8; 4]>::try_from(&bytes[..]) {
            Ok(length) => self.check(i32::from_be_bytes(length)).map(Some),
            Err(_) if bytes.is_empty() => Ok(None),
            Err(_) => Err(FrameError::CutShort { read: bytes.len(), expected: 4 }),
        }
    }

    fn check(&self, length: i32) -> Result<usize, FrameError> {
        let len = usize::try_from(length).ok().filter(|len| (MIN_FRAME..=self.limit).contains(len));
        len.ok_or(FrameError::Length { length, limit: self.limit })
    }

    async fn room(&self, len: usize) -> FrameRoom {
        let take = |budget: &Arc<Semaphore>| budget.clone().acquire_many_owned(len as u32);
        let connection = take(&self.connection).await.expect("budgets are never closed");
        let total = take(&self.total).await.expect("budgets are never closed");
        FrameRoom { _connection: connection, _total: total }
    }

    /// Reads until `frame` holds `len` bytes or the connection ends.
    async fn fill(
        &mut self,
        frame: &mut BytesMut,
        len: usize,
        patience: Duration,
        late: fn(Duration) -> FrameError,
    ) -> Result<(), FrameError> {
        let mut socket = (&mut self.socket).take(len as u64);
        while frame.len() < len {
            let read = timeout(patience, socket.read_buf(frame)).await.map_err(|_| late(patience))??;
            if read == 0 {
                break;
            }
        }
        Ok(())
    }
}
