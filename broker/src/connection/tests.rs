use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};
use tokio::sync::{Notify, oneshot, watch};

use super::*;

/// Answers each request with its own bytes. The first byte of a request says how: `n` at once, `l` later and
/// `h` (handed over) later, once [`Echo::release`] allows as many; `s` never, `c` by closing.
struct Echo {
    accepted: AtomicUsize,
    came: Notify,
    allowed: watch::Sender<BTreeSet<usize>>,
}

impl Echo {
    fn new() -> Self {
        Self { accepted: AtomicUsize::new(0), came: Notify::new(), allowed: watch::channel(BTreeSet::new()).0 }
    }

    /// Lets the first `count` requests finish.
    fn release(&self, count: usize) {
        self.allowed.send_modify(|allowed| allowed.extend(0..count));
    }

    /// Lets one request finish, by its number from 0.
    fn release_one(&self, number: usize) {
        self.allowed.send_modify(|allowed| _ = allowed.insert(number));
    }

    async fn until_accepted(&self, count: usize) {
        while self.accepted.load(Ordering::SeqCst) < count {
            self.came.notified().await;
        }
    }

    fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

fn echo(frame: &[u8]) -> Outcome {
    let correlation = i32::from_be_bytes(frame[4..8].try_into().unwrap());
    Outcome::Answer(Answer::around(correlation, 0, vec![Bytes::copy_from_slice(frame)]).unwrap())
}

impl Handler for Echo {
    type Session = ();

    fn probation(&self, (): &()) -> Option<Probation> {
        None
    }

    async fn accept(&self, (): &(), frame: BytesMut) -> Accepted {
        let number = self.accepted.fetch_add(1, Ordering::SeqCst);
        self.came.notify_one();
        let kind = frame[0];
        let answered = frame.clone();
        let mut allowed = self.allowed.subscribe();
        let wait = Box::pin(async move {
            let _ = allowed.wait_for(|allowed| allowed.contains(&number)).await;
            echo(&frame)
        });
        match kind {
            b'l' => Accepted::Later(wait),
            b'h' => Accepted::Handed(wait),
            b's' => Accepted::Now(Outcome::Silent),
            b'c' => Accepted::Now(Outcome::Close("told to".into())),
            _ => Accepted::Now(echo(&answered)),
        }
    }
}

fn bounds() -> Bounds {
    Bounds {
        requests: 4,
        bytes: 1000,
        frame: 500,
        total: Arc::new(Semaphore::new(10_000)),
        idle: Duration::from_secs(60),
        pace: Pace { stall: Duration::from_secs(10), slowest: 100 },
    }
}

struct Served {
    client: DuplexStream,
    handler: Arc<Echo>,
    stop: CancellationToken,
    ended: oneshot::Receiver<Ended>,
}

fn start(bounds: Bounds) -> Served {
    let (client, server) = duplex(1 << 16);
    let handler = Arc::new(Echo::new());
    let stop = CancellationToken::new();
    let (tell, ended) = oneshot::channel();
    let (serving, stopping) = (handler.clone(), stop.clone());
    tokio::spawn(async move {
        let _ = tell.send(serve(split(server), &*serving, &(), &bounds, &stopping).await);
    });
    Served { client, handler, stop, ended }
}

fn request(kind: u8, correlation: u32, len: usize) -> Vec<u8> {
    let mut frame = (len as u32).to_be_bytes().to_vec();
    frame.extend([kind, 0, 0, 0]);
    frame.extend(correlation.to_be_bytes());
    frame.resize(4 + len, 7);
    frame
}

impl Served {
    async fn send(&mut self, kind: u8, correlation: u32, len: usize) {
        self.client.write_all(&request(kind, correlation, len)).await.unwrap();
    }

    async fn answer(&mut self) -> u32 {
        let len = self.client.read_u32().await.unwrap();
        let mut answer = vec![0; len as usize];
        self.client.read_exact(&mut answer).await.unwrap();
        u32::from_be_bytes(answer[..4].try_into().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn answers_come_in_the_order_of_requests() {
    let mut served = start(bounds());
    for (correlation, kind) in [(1, b'l'), (2, b's'), (3, b'h'), (4, b'n')] {
        served.send(kind, correlation, 20).await;
    }
    served.handler.until_accepted(4).await;
    served.handler.release_one(2);
    settle().await;
    assert!(served.client.read_u8().now_or_never().is_none(), "nothing may overtake the first request");
    served.handler.release_one(0);
    assert_eq!([served.answer().await, served.answer().await, served.answer().await], [1, 3, 4]);
}

#[tokio::test]
async fn later_requests_are_taken_up_while_earlier_ones_wait() {
    let mut served = start(bounds());
    served.send(b'l', 1, 20).await;
    served.send(b'l', 2, 20).await;
    served.send(b'l', 3, 20).await;
    served.handler.until_accepted(3).await;
    served.handler.release(3);
    for expected in 1..=3 {
        assert_eq!(served.answer().await, expected);
    }
}

/// Waits until the connection has done all it can: with paused time, time moves only when nothing else can happen.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_are_taken_than_the_bound_says() {
    let mut served = start(bounds());
    for correlation in 0..10 {
        served.send(b'h', correlation, 20).await;
    }
    settle().await;
    assert_eq!(served.handler.accepted(), 4);
    served.handler.release(2);
    assert_eq!((served.answer().await, served.answer().await), (0, 1));
    settle().await;
    assert_eq!(served.handler.accepted(), 6);
    served.handler.release(10);
    for expected in 2..10 {
        assert_eq!(served.answer().await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_bytes_are_taken_than_the_bounds_say() {
    let mut served = start(bounds());
    for correlation in 0..4 {
        served.send(b'l', correlation, 400).await;
    }
    settle().await;
    assert_eq!(served.handler.accepted(), 2, "the connection's bytes");
    served.handler.release(1);
    assert_eq!(served.answer().await, 0);
    settle().await;
    assert_eq!(served.handler.accepted(), 3);

    let total = Arc::new(Semaphore::new(500));
    let mut one = start(Bounds { total: total.clone(), ..bounds() });
    let mut two = start(Bounds { total: total.clone(), ..bounds() });
    one.send(b'l', 1, 400).await;
    one.handler.until_accepted(1).await;
    two.send(b'l', 1, 400).await;
    settle().await;
    assert_eq!(two.handler.accepted(), 0, "the bytes of all connections");
    one.handler.release(1);
    assert_eq!(one.answer().await, 1);
    two.handler.until_accepted(1).await;
}

#[tokio::test(start_paused = true)]
async fn bytes_in_the_hosts_care_are_not_counted_twice() {
    let mut served = start(bounds());
    for correlation in 0..4 {
        served.send(b'h', correlation, 400).await;
    }
    served.handler.until_accepted(4).await;
}

#[tokio::test]
async fn a_refusal_closes_after_the_answers_before_it() {
    let mut served = start(bounds());
    served.send(b'l', 1, 20).await;
    served.send(b'c', 2, 20).await;
    served.handler.until_accepted(2).await;
    served.handler.release(1);
    assert_eq!(served.answer().await, 1);
    assert_eq!(served.client.read(&mut [0; 1]).await.unwrap(), 0);
    assert!(matches!(served.ended.await.unwrap(), Ended::Refused(why) if why == "told to"));
}

#[tokio::test]
async fn a_stop_answers_what_was_taken_and_takes_no_more() {
    let mut served = start(bounds());
    served.send(b'l', 1, 20).await;
    served.handler.until_accepted(1).await;
    served.stop.cancel();
    served.handler.release(1);
    assert_eq!(served.answer().await, 1);
    assert_eq!(served.client.read(&mut [0; 1]).await.unwrap(), 0);
    assert!(matches!(served.ended.await.unwrap(), Ended::Stopped));
}

#[tokio::test]
async fn bad_lengths_close_the_connection_before_anything_is_read() {
    for length in [-1, i32::MIN, 0, 7, 501, i32::MAX] {
        let mut served = start(bounds());
        served.client.write_all(&length.to_be_bytes()).await.unwrap();
        let ended = served.ended.await.unwrap();
        assert!(matches!(ended, Ended::Frame(FrameError::Length { length: found, .. }) if found == length), "{ended}");
    }
}

#[tokio::test]
async fn a_frame_cut_short_is_not_served() {
    let mut served = start(bounds());
    served.client.write_all(&request(b'n', 1, 20)[..15]).await.unwrap();
    served.client.shutdown().await.unwrap();
    assert!(matches!(served.ended.await.unwrap(), Ended::Frame(FrameError::CutShort { read: 11, expected: 20 })));
    assert_eq!(served.handler.accepted(), 0);
}

#[tokio::test(start_paused = true)]
async fn silence_and_standstill_end_a_connection() {
    let silent = start(bounds());
    assert!(matches!(silent.ended.await.unwrap(), Ended::Frame(FrameError::Idle(_))));
    let mut stalled = start(bounds());
    stalled.client.write_all(&request(b'n', 1, 20)[..15]).await.unwrap();
    assert!(matches!(stalled.ended.await.unwrap(), Ended::Frame(FrameError::Stalled(_))));
}

/// A byte now and then is no standstill, but the frame holds its room, and so must end.
#[tokio::test(start_paused = true)]
async fn a_frame_that_never_ends_is_not_waited_for() {
    let total = Arc::new(Semaphore::new(500));
    let mut served = start(Bounds { total: total.clone(), ..bounds() });
    let began = tidegate::env::now();
    let frame = request(b'n', 1, 500);
    let dripping = async {
        for byte in frame {
            if served.client.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(9)).await;
        }
        served.ended.await.unwrap()
    };
    let ended = dripping.await;
    assert!(matches!(ended, Ended::Frame(FrameError::Slow { expected: 4, .. })), "{ended}");
    assert!(began.elapsed() < Duration::from_secs(20));

    let mut served = start(Bounds { total: total.clone(), ..bounds() });
    let began = tidegate::env::now();
    served.client.write_all(&request(b'n', 1, 500)[..100]).await.unwrap();
    settle().await;
    assert_eq!(total.available_permits(), 0, "it has its room");
    let ended = loop {
        if let Ok(ended) = served.ended.try_recv() {
            break ended;
        }
        let _ = served.client.write_all(&[1]).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    assert!(matches!(ended, Ended::Frame(FrameError::Slow { expected: 500, .. })), "{ended}");
    assert!(began.elapsed() <= Duration::from_secs(17), "10 s, and 5 s for 500 bytes");
    assert_eq!(total.available_permits(), 500, "and has given it back");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_taken_drop_by_drop_is_dropped() {
    let (mut client, server) = duplex(16);
    let handler = Echo::new();
    handler.release(100);
    let stop = CancellationToken::new();
    let bounds = bounds();
    let serving = serve(split(server), &handler, &(), &bounds, &stop);
    let dripping = async {
        client.write_all(&request(b'l', 1, 400)).await.unwrap();
        loop {
            let _ = client.read_u8().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let ended = tokio::select! { ended = serving => ended, () = dripping => unreachable!("it goes on for ever") };
    assert!(matches!(ended, Ended::WriteSlow { .. }), "{ended}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_at_a_fair_pace_is_served() {
    let mut served = start(bounds());
    for piece in request(b'n', 1, 490).chunks(50) {
        served.client.write_all(piece).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1_400)).await;
    }
    assert_eq!(served.answer().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_no_answers_is_dropped() {
    let (mut client, server) = duplex(64);
    let handler = Echo::new();
    handler.release(100);
    let stop = CancellationToken::new();
    let bounds = bounds();
    let serving = serve(split(server), &handler, &(), &bounds, &stop);
    let sending = async {
        let _ = client.write_all(&request(b'l', 1, 400)).await;
        std::future::pending::<()>().await;
    };
    let ended = tokio::select! { ended = serving => ended, () = sending => unreachable!("it waits for ever") };
    assert!(matches!(ended, Ended::WriteStalled(_)), "{ended}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn arbitrary_streams_end_and_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut served = start(bounds());
            served.handler.release(100);
            let _ = served.client.write_all(&bytes).await;
            let _ = served.client.shutdown().await;
            let _ = served.client.read_to_end(&mut Vec::new()).await;
            served.ended.await.unwrap();
        });
    }
}
