//! The breaker of one binding in one topic: after repeated faults the policy is left alone for a while, with back-off.
//!
//! By default: closed → open after 3 faults in 60 s (5 where missed deadlines are among them, which a stalled machine can cause) → probing
//! after 30 s. A fault while probing doubles the pause, up to 10 min; 10 min without a fault close it again. The clean period is looked at
//! lazily, so that a call that succeeds costs nothing here.

use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

use super::fault::FaultClass;
use crate::config::BreakerSettings;
use crate::env::Instant;

/// Whether a policy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakerState {
    /// It is asked.
    Closed,
    /// It is asked again after a pause; the next fault opens the breaker for longer.
    Probing,
    /// The built-in decides.
    Open,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Breaker {
    settings: BreakerSettings,
    recent: VecDeque<(Instant, bool)>,
    open_until: Option<Instant>,
    probing_since: Option<Instant>,
    pause: Duration,
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl Breaker {
    pub(crate) fn new(settings: BreakerSettings) -> Self {
        Self { settings, recent: VecDeque::new(), open_until: None, probing_since: None, pause: Duration::ZERO }
    }

    /// Takes note of a fault; true if the breaker is open afterwards.
    pub(crate) fn record(&mut self, class: FaultClass, now: Instant) -> bool {
        self.settle(now);
        if !class.is_counted() || self.open_until.is_some() {
            return self.open_until.is_some();
        }
        let window = ms(self.settings.window_ms);
        self.recent.retain(|(at, _)| now.duration_since(*at) < window);
        self.recent.push_back((now, class.is_deadline()));
        let hard = self.recent.iter().filter(|(_, deadline)| !deadline).count();
        let many = hard >= self.settings.faults as usize || self.recent.len() >= self.settings.deadline_faults as usize;
        if many || self.probing_since.is_some() {
            self.open(now);
        }
        self.open_until.is_some()
    }

    /// Whether the policy may be asked now; an open breaker whose pause is over starts to probe.
    pub(crate) fn admits(&mut self, now: Instant) -> bool {
        self.settle(now);
        match self.open_until {
            Some(until) if now < until => false,
            Some(_) => {
                self.open_until = None;
                self.probing_since = Some(now);
                true
            }
            None => true,
        }
    }

    /// The state at `now`.
    pub(crate) fn state(&self, now: Instant) -> BreakerState {
        match (self.open_until, self.probing_since) {
            (Some(_), _) => BreakerState::Open,
            (None, Some(since)) if now.duration_since(since) < ms(self.settings.clean_ms) => BreakerState::Probing,
            _ => BreakerState::Closed,
        }
    }

    fn open(&mut self, now: Instant) {
        self.pause =
            if self.pause.is_zero() { ms(self.settings.pause_ms) } else { (self.pause * 2).min(ms(self.settings.longest_pause_ms)) };
        self.open_until = Some(now + self.pause);
        self.probing_since = None;
        self.recent.clear();
    }

    fn settle(&mut self, now: Instant) {
        let clean = ms(self.settings.clean_ms);
        if self.probing_since.is_some_and(|since| now.duration_since(since) >= clean) {
            self.probing_since = None;
            self.pause = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn opens_after_three_faults_in_a_minute_and_not_after_three_in_an_hour() {
        let start = crate::env::now();
        let mut slow = Breaker::new(BreakerSettings::default());
        assert!((0..10).all(|n| !slow.record(FaultClass::Trap, start + secs(60 * n))));
        let mut quick = Breaker::new(BreakerSettings::default());
        let opened: Vec<bool> = (0..3).map(|n| quick.record(FaultClass::Trap, start + secs(n))).collect();
        assert_eq!(opened, [false, false, true]);
    }

    #[test]
    fn one_stall_of_the_machine_does_not_quarantine() {
        let start = crate::env::now();
        let mut breaker = Breaker::new(BreakerSettings::default());
        let opened: Vec<bool> = (0..5).map(|_| breaker.record(FaultClass::Timeout, start)).collect();
        assert_eq!(opened, [false, false, false, false, true]);
        let mut sealed = Breaker::new(BreakerSettings::default());
        assert!((0..50).all(|_| !sealed.record(FaultClass::SealTimeout, start)));
    }

    #[test]
    fn pauses_double_up_to_ten_minutes_and_a_clean_period_resets_them() {
        let mut now = crate::env::now();
        let mut breaker = Breaker::new(BreakerSettings::default());
        for _ in 0..3 {
            breaker.record(FaultClass::Trap, now);
        }
        for pause in [30, 60, 120, 240, 480, 600, 600] {
            assert!(!breaker.admits(now + secs(pause) - Duration::from_millis(1)), "admitted before {pause} s");
            now += secs(pause);
            assert!(breaker.admits(now));
            assert_eq!(breaker.state(now), BreakerState::Probing);
            assert!(breaker.record(FaultClass::Trap, now));
        }
        now += secs(600);
        assert!(breaker.admits(now));
        now += secs(600);
        assert_eq!(breaker.state(now), BreakerState::Closed);
        let opened: Vec<bool> = (0..3).map(|_| breaker.record(FaultClass::Trap, now)).collect();
        assert_eq!(opened, [false, false, true]);
        assert!(breaker.admits(now + secs(30)), "the pause starts at 30 s again");
    }
}
