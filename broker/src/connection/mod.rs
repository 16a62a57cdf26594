//! One client connection: frames in, answers out.
//!
//! Three futures run in one task. *Reading* takes a frame and lets the handler accept it, one at a time, so
//! that what a connection appends is appended in the order of its requests. *Ordering* drives everything that
//! was accepted and hands on the answers in the order of the requests. *Writing* sends them. A slow client
//! stops only the writing: the requests already accepted go on, so nobody waits for a client that reads slowly.
//!
//! Bounds: a request holds a slot of its connection until its answer is written, and its bytes in two budgets
//! (connection, broker) until the host holds them or the answer is written. When a bound is reached, no more is read.
//! A client that sends or takes too slowly is dropped: what it holds is room that others wait for.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesOrdered;
use tidegate::env::now;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use self::frame::{FrameError, FrameReader, FrameRoom};
use crate::security::login::Probation;
use crate::wire::answer::Answer;

pub(crate) mod frame;
#[cfg(test)]
mod tests;

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is answered.
    Answer(Answer),
    /// It wants no answer.
    Silent,
    /// It cannot be answered: earlier answers are written, then the connection is closed.
    Close(String),
    /// It is answered, and the connection is closed behind the answer.
    Last(Answer, String),
}

/// What a handler makes of a frame at once.
pub(crate) enum Accepted {
    /// All is done.
    Now(Outcome),
    /// The frame's contents are in the host's care, which bounds them itself; the outcome follows.
    Handed(BoxFuture<'static, Outcome>),
    /// The outcome follows, and the request counts as held until then.
    Later(BoxFuture<'static, Outcome>),
}

/// Understands requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// What it keeps for a connection.
    type Session: Send + Sync + 'static;

    /// What a client is bound to that the handler does not know yet.
    fn probation(&self, session: &Self::Session) -> Option<Probation>;

    /// Takes a request. The next one of the same connection is accepted once this returns.
    fn accept(&self, session: &Self::Session, frame: BytesMut) -> impl Future<Output = Accepted> + Send;
}

/// Bounds of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Requests accepted and not answered.
    pub(crate) requests: usize,
    /// Bytes of them.
    pub(crate) bytes: usize,
    /// Largest frame.
    pub(crate) frame: usize,
    /// Bytes of the requests of all connections.
    pub(crate) total: Arc<Semaphore>,
    /// Longest silence between requests.
    pub(crate) idle: Duration,
    /// Slowest that frames come and answers go.
    pub(crate) pace: Pace,
}

/// How slowly a client may send a frame, or take an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Longest standstill.
    pub(crate) stall: Duration,
    /// Bytes a second on the whole, behind a first time of `stall`.
    pub(crate) slowest: u32,
}

impl Pace {
    /// How long so many bytes may take.
    fn patience(self, bytes: usize) -> Duration {
        self.stall + Duration::from_secs_f64(bytes as f64 / f64::from(self.slowest))
    }
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    #[error("closed by the client")]
    ByClient,
    #[error("the broker stops")]
    Stopped,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Refused(String),
    #[error("answer not taken: {0}")]
    Write(#[from] std::io::Error),
    #[error("answer not taken for {0:?}")]
    WriteStalled(Duration),
    #[error("{left} bytes of an answer not taken after {after:?}: too slow (broker.limits.slowest_bytes_per_s)")]
    WriteSlow { left: usize, after: Duration },
}

/// A request that was accepted, with what it holds.
struct Pending {
    work: Work,
    ticket: Ticket,
}

enum Work {
    Done(Outcome),
    Running(BoxFuture<'static, Outcome>),
}

struct Ticket {
    _slot: OwnedSemaphorePermit,
    _room: Option<FrameRoom>,
}

impl Pending {
    async fn finish(self) -> (Outcome, Ticket) {
        let outcome = match self.work {
            Work::Done(outcome) => outcome,
            Work::Running(work) => work.await,
        };
        (outcome, self.ticket)
    }
}

/// Serves a connection until the client closes it, it breaks a rule, or `stop` is cancelled. Answers to what
/// was accepted are written before it ends.
pub(crate) async fn serve<H: Handler>(
    socket: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    handler: &H,
    session: &H::Session,
    bounds: &Bounds,
    stop: &CancellationToken,
) -> Ended {
    let closing = stop.child_token();
    let (pending, accepted) = mpsc::channel(bounds.requests);
    let (done, answers) = mpsc::channel(bounds.requests);
    let reading = async { Ok(read(FrameReader::new(socket.0, bounds), handler, session, bounds.requests, pending, &closing).await) };
    let ordering = async {
        let refused = order(accepted, done).await;
        closing.cancel();
        Ok(refused)
    };
    match tokio::try_join!(reading, ordering, write(socket.1, answers, bounds.pace)) {
        Ok((_, Some(refused), ())) => Ended::Refused(refused),
        Ok((ended, None, ())) => ended,
        Err(ended) => ended,
    }
}

async fn read<H: Handler>(
    mut frames: FrameReader<impl AsyncRead + Unpin>,
    handler: &H,
    session: &H::Session,
    requests: usize,
    pending: mpsc::Sender<Pending>,
    closing: &CancellationToken,
) -> Ended {
    let slots = Arc::new(Semaphore::new(requests));
    loop {
        let probation = handler.probation(session);
        let next = async {
            let slot = slots.clone().acquire_owned().await.expect("the slots are never closed");
            let bounds = probation.as_ref().map(|probation| probation.frame.clone());
            frames.next(bounds).await.map(|frame| frame.map(|(frame, room)| (slot, frame, room)))
        };
        let next = async {
            match &probation {
                Some(probation) => timeout_at(probation.until, next).await.unwrap_or(Err(FrameError::Unauthenticated)),
                None => next.await,
            }
        };
        let (slot, frame, room) = tokio::select! {
            next = next => match next {
                Ok(Some(next)) => next,
                Ok(None) => return Ended::ByClient,
                Err(error) => return error.into(),
            },
            () = closing.cancelled() => return Ended::Stopped,
        };
        let (work, room) = match handler.accept(session, frame).await {
            Accepted::Now(outcome) => (Work::Done(outcome), None),
            Accepted::Handed(work) => (Work::Running(work), None),
            Accepted::Later(work) => (Work::Running(work), Some(room)),
        };
        if pending.send(Pending { work, ticket: Ticket { _slot: slot, _room: room } }).await.is_err() {
            return Ended::Stopped;
        }
    }
}

/// Drives all pending requests at once and passes their answers on in order. Says why, if one refuses to go on.
async fn order(mut accepted: mpsc::Receiver<Pending>, done: mpsc::Sender<(Answer, Ticket)>) -> Option<String> {
    let mut running = FuturesOrdered::new();
    let mut open = true;
    while open || !running.is_empty() {
        tokio::select! {
            biased;
            Some((outcome, ticket)) = running.next(), if !running.is_empty() => match outcome {
                Outcome::Answer(answer) => done.send((answer, ticket)).await.ok()?,
                Outcome::Silent => drop(ticket),
                Outcome::Close(why) => return Some(why),
                Outcome::Last(answer, why) => {
                    done.send((answer, ticket)).await.ok()?;
                    return Some(why);
                }
            },
            next = accepted.recv(), if open => match next {
                Some(pending) => running.push_back(pending.finish()),
                None => open = false,
            },
        }
    }
    None
}

async fn write(mut socket: impl AsyncWrite + Unpin, mut answers: mpsc::Receiver<(Answer, Ticket)>, pace: Pace) -> Result<(), Ended> {
    while let Some((answer, ticket)) = answers.recv().await {
        send(&mut socket, answer, pace).await?;
        drop(ticket);
    }
    Ok(socket.shutdown().await?)
}

async fn send(socket: &mut (impl AsyncWrite + Unpin), mut answer: Answer, pace: Pace) -> Result<(), Ended> {
    let began = now();
    let deadline = began + pace.patience(answer.remaining());
    while answer.has_remaining() {
        let at = deadline.min(now() + pace.stall);
        match timeout_at(at, socket.write_buf(&mut answer)).await {
            Ok(Ok(0)) => return Err(std::io::Error::from(std::io::ErrorKind::WriteZero).into()),
            Ok(written) => written?,
            Err(_) if at < deadline => return Err(Ended::WriteStalled(pace.stall)),
            Err(_) => return Err(Ended::WriteSlow { left: answer.remaining(), after: began.elapsed() }),
        };
    }
    Ok(())
}
