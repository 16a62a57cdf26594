//! How many requests may be in flight, shared by everything that talks to the store.
//!
//! It halves when the store asks to slow down, at most once for each round of requests, falls to one when a whole
//! round was refused, and grows by one after a whole round of successes. While the store goes on throttling, a shared pause doubles: however many wait,
//! the store sees one request per pause, and none of the waiters gives up early. Waiters are served in order.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::env::{self, Env, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Budget {
    permits: Arc<Semaphore>,
    state: Mutex<State>,
    most: u32,
    gauge: Gauge,
}

#[derive(Debug)]
struct State {
    /// Permits that may be out.
    limit: u32,
    /// Permits that are out although the limit fell; they do not come back.
    excess: u32,
    /// Successes since the limit last changed.
    successes: u32,
    /// Nothing was served since the last cut.
    refused: bool,
    pause: Duration,
    resume: Option<Instant>,
    last_cut: Option<Instant>,
}

/// The right to have one request in flight.
#[derive(Debug)]
pub(super) struct Permit<'a> {
    budget: &'a Budget,
    permit: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// At most `most` (at least 1) requests in flight; `gauge` shows the limit.
    pub(super) fn new(most: u32, gauge: Gauge) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize) as u32);
        gauge.set(i64::from(most));
        let state = State { limit: most, excess: 0, successes: 0, refused: false, pause: Duration::ZERO, resume: None, last_cut: None };
        Self { permits: Arc::new(Semaphore::new(most as usize)), state: Mutex::new(state), most, gauge }
    }

    /// Waits for a permit and for the end of a pause. Who waits in a pause holds a permit, so the others queue behind it.
    pub(super) async fn acquire(&self) -> Permit<'_> {
        let permit = self.permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        let permit = Permit { budget: self, permit: Some(permit) };
        loop {
            let resume = self.state.lock().resume;
            match resume {
                Some(resume) if resume > env::now() => tokio::time::sleep_until(resume).await,
                _ => return permit,
            }
        }
    }

    /// A request that was sent at `sent` was told to slow down.
    pub(super) fn throttled(&self, sent: Instant, env: &Env) {
        let mut state = self.state.lock();
        // The others of the same round tell nothing new.
        if state.last_cut.is_some_and(|cut| sent <= cut) {
            return;
        }
        let limit = if state.refused { 1 } else { (state.limit / 2).max(1) };
        let removed = state.limit - limit;
        state.excess += removed - self.permits.forget_permits(removed as usize) as u32;
        state.limit = limit;
        state.successes = 0;
        state.refused = true;
        state.pause = (state.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        let now = env::now();
        state.last_cut = Some(now);
        state.resume = Some(now + env.jittered(state.pause));
        self.gauge.set(i64::from(limit));
    }

    /// A request was answered otherwise.
    pub(super) fn served(&self) {
        let mut state = self.state.lock();
        state.pause = Duration::ZERO;
        state.refused = false;
        if state.limit == self.most {
            return;
        }
        state.successes += 1;
        if state.successes < state.limit {
            return;
        }
        state.successes = 0;
        state.limit += 1;
        self.gauge.set(i64::from(state.limit));
        match state.excess.checked_sub(1) {
            Some(excess) => state.excess = excess,
            None => self.permits.add_permits(1),
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state.lock();
        if state.excess > 0 {
            state.excess -= 1;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(budget: &Budget) -> u32 {
        budget.state.lock().limit
    }

    async fn available(budget: &Budget) -> usize {
        let mut held = Vec::new();
        while let Ok(permit) = tokio::time::timeout(Duration::from_secs(60), budget.acquire()).await {
            held.push(permit);
        }
        held.len()
    }

    #[tokio::test(start_paused = true)]
    async fn one_round_of_throttling_halves_once() {
        let (budget, env) = (Budget::new(16, Gauge::default()), Env::simulated(1, 0));
        let mut round = Vec::new();
        for _ in 0..16 {
            round.push(budget.acquire().await);
        }
        let sent = env::now();
        tokio::time::advance(Duration::from_millis(30)).await;
        for _ in 0..16 {
            budget.throttled(sent, &env);
        }
        assert_eq!(limit(&budget), 8);
        drop(round);
        assert_eq!(available(&budget).await, 8);
    }

    #[tokio::test(start_paused = true)]
    async fn it_shrinks_to_one_and_grows_back_slowly() {
        let (budget, env) = (Budget::new(4, Gauge::default()), Env::simulated(1, 0));
        for _ in 0..10 {
            let permit = budget.acquire().await;
            budget.throttled(env::now(), &env);
            drop(permit);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!((limit(&budget), available(&budget).await), (1, 1));
        for expected in [2, 2, 3, 3, 3, 4, 4, 4] {
            budget.served();
            assert_eq!(limit(&budget), expected);
        }
        assert_eq!(available(&budget).await, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_their_bound() {
        let (budget, env) = (Budget::new(1, Gauge::default()), Env::simulated(1, 0));
        let start = env::now();
        let mut sent = 0;
        while env::now() - start < Duration::from_secs(60) {
            let _permit = budget.acquire().await;
            sent += 1;
            budget.throttled(env::now(), &env);
        }
        assert!((12..40).contains(&sent), "{sent} requests in a minute of throttling");
    }
}
