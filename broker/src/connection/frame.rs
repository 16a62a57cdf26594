//! Frames: a length and so many bytes, each read straight into a buffer of its own.
//!
//! The buffer has exactly the frame's size, so a record set cut out of it reaches the host where the socket
//! put it. Before a buffer is made its length is checked against the limit, and room for it is taken in the
//! budgets of the connection and of the broker.
//!
//! A frame must not stand still, and must not take for ever byte by byte either: it holds its room meanwhile.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tidegate::env::{Instant, now};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{timeout, timeout_at};

use super::{Bounds, Pace};

/// Shortest header: API key, version, correlation id.
pub(crate) const MIN_FRAME: usize = 8;

/// Why no frame can be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("frame length {length}, expected {} to {} bytes (broker.limits.request_bytes)", expected.start(), expected.end())]
    Length { length: i32, expected: RangeInclusive<usize> },
    #[error("the client did not authenticate in time (broker.limits.authentication_ms)")]
    Unauthenticated,
    #[error("connection ended after {read} of a frame's {expected} bytes")]
    CutShort { read: usize, expected: usize },
    #[error("no request for {0:?}")]
    Idle(Duration),
    #[error("a frame stood still for {0:?}")]
    Stalled(Duration),
    #[error("a frame of {expected} bytes had brought {read} after {after:?}: too slow (broker.limits.slowest_bytes_per_s)")]
    Slow { read: usize, expected: usize, after: Duration },
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
    pace: Pace,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(socket: R, bounds: &Bounds) -> Self {
        Self {
            socket,
            limit: bounds.frame,
            connection: Arc::new(Semaphore::new(bounds.bytes)),
            total: bounds.total.clone(),
            idle: bounds.idle,
            pace: bounds.pace,
        }
    }

    /// The next frame without its length; `None` where the client ended the connection between two. `bounds` are narrower ones of
    /// its length.
    pub(crate) async fn next(&mut self, bounds: Option<RangeInclusive<usize>>) -> Result<Option<(BytesMut, FrameRoom)>, FrameError> {
        let Some(len) = self.length(bounds.unwrap_or(MIN_FRAME..=self.limit)).await? else { return Ok(None) };
        let room = self.room(len).await;
        let mut frame = BytesMut::with_capacity(len);
        self.fill(&mut frame, len, now()).await?;
        if frame.len() < len {
            return Err(FrameError::CutShort { read: frame.len(), expected: len });
        }
        Ok(Some((frame, room)))
    }

    async fn length(&mut self, expected: RangeInclusive<usize>) -> Result<Option<usize>, FrameError> {
        let mut bytes = BytesMut::with_capacity(4);
        let mut socket = (&mut self.socket).take(4);
        let read = timeout(self.idle, socket.read_buf(&mut bytes)).await.map_err(|_| FrameError::Idle(self.idle))??;
        if read == 0 {
            return Ok(None);
        }
        self.fill(&mut bytes, 4, now()).await?;
        match <[u8; 4]>::try_from(&bytes[..]) {
            Ok(length) => check(i32::from_be_bytes(length), expected).map(Some),
            Err(_) => Err(FrameError::CutShort { read: bytes.len(), expected: 4 }),
        }
    }

    async fn room(&self, len: usize) -> FrameRoom {
        let take = |budget: &Arc<Semaphore>| budget.clone().acquire_many_owned(len as u32);
        let connection = take(&self.connection).await.expect("budgets are never closed");
        let total = take(&self.total).await.expect("budgets are never closed");
        FrameRoom { _connection: connection, _total: total }
    }

    /// Reads until `frame`, begun at `began`, holds `len` bytes or the connection ends.
    async fn fill(&mut self, frame: &mut BytesMut, len: usize, began: Instant) -> Result<(), FrameError> {
        let Pace { stall, .. } = self.pace;
        let deadline = began + self.pace.patience(len);
        let mut socket = (&mut self.socket).take((len - frame.len()) as u64);
        while frame.len() < len {
            let at = deadline.min(now() + stall);
            let read = match timeout_at(at, socket.read_buf(frame)).await {
                Ok(read) => read?,
                Err(_) if at < deadline => return Err(FrameError::Stalled(stall)),
                Err(_) => return Err(FrameError::Slow { read: frame.len(), expected: len, after: began.elapsed() }),
            };
            if read == 0 {
                break;
            }
        }
        Ok(())
    }
}

fn check(length: i32, expected: RangeInclusive<usize>) -> Result<usize, FrameError> {
    let len = usize::try_from(length).ok().filter(|len| expected.contains(len));
    len.ok_or(FrameError::Length { length, expected })
}
