//! A lane's part of a topic's budget of PUTs: a bucket that fills with time and pays for flushes.
//!
//! Lanes cannot see each other; what they see is their share of their topic's PUTs ([`FlushView::topic_put_share_permille`]). A busy lane gets the
//! share that it has, a quiet one no less than half of an even share: else it could never become busy.
//!
//! [`FlushView::topic_put_share_permille`]: crate::FlushView::topic_put_share_permille

/// One PUT, in the bucket's units.
const PUT: u64 = 1_000_000;

/// See the module. Numbers of any size are fine: it saturates.
#[derive(Clone, Debug)]
pub struct PutBudget {
    /// PUTs per minute of the topic; 0: no budget.
    puts_per_min: u64,
    /// So much of the budget may be saved up, in milliseconds.
    saved_ms: u64,
    /// The share of a lane in the topic's PUTs if all flush alike, in permille.
    even_permille: u64,
    tokens: u64,
    per_ms: u64,
    refilled_ms: u64,
}

impl PutBudget {
    /// A topic's budget of `puts_per_min` (0: none), shared by its `lanes`. What is not spent is saved for `saved_ms`, on top of one PUT.
    pub fn new(puts_per_min: u64, saved_ms: u64, lanes: u32) -> Self {
        let even_permille = (1_000 / u64::from(lanes.max(1))).max(1);
        Self { puts_per_min, saved_ms, even_permille, tokens: 2 * PUT, per_ms: 0, refilled_ms: 0 }
    }

    /// Lets time pass, up to `now_ms`; the lane has this share of its topic's PUTs.
    pub fn refill(&mut self, now_ms: u64, share_permille: u32) {
        let share = u64::from(share_permille).min(1_000).max(self.even_permille.div_ceil(2));
        self.per_ms = (self.puts_per_min.saturating_mul(share).saturating_mul(PUT / 1_000) / 60_000).max(1);
        let passed = now_ms.saturating_sub(self.refilled_ms);
        self.refilled_ms = now_ms;
        self.tokens = self.tokens.saturating_add(passed.saturating_mul(self.per_ms)).min(self.most());
    }

    /// What was saved up and when that was known, for a successor; see [`snapshot`](crate::Policy::snapshot).
    pub fn saved(&self) -> (u64, u64) {
        (self.tokens, self.refilled_ms)
    }

    /// Goes on with what another one had saved up; what is more than this one may save goes at its next refill.
    pub fn go_on(&mut self, (tokens, refilled_ms): (u64, u64)) {
        (self.tokens, self.refilled_ms) = (tokens, refilled_ms);
    }

    /// Pays for a flush, whoever asked for it.
    pub fn spend(&mut self) {
        self.tokens = self.tokens.saturating_sub(PUT);
    }

    /// Milliseconds until a flush is paid for; `None`: it is.
    pub fn wait_ms(&self) -> Option<u64> {
        let short = PUT.saturating_sub(self.tokens);
        (self.puts_per_min > 0 && short > 0).then(|| short.div_ceil(self.per_ms.max(1)))
    }

    /// How full the bucket is, in permille.
    pub fn full_permille(&self) -> u64 {
        let permille = u128::from(self.tokens) * 1_000 / u128::from(self.most().max(1));
        permille.min(1_000) as u64
    }

    /// Milliseconds in which this lane earns one PUT.
    pub fn earn_ms(&self) -> u64 {
        PUT.div_ceil(self.per_ms.max(1))
    }

    fn most(&self) -> u64 {
        PUT.saturating_add(self.per_ms.saturating_mul(self.saved_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PUTs that a lane can make in a minute, asking each millisecond.
    fn puts_in_a_minute(budget: &mut PutBudget, share_permille: u32) -> u64 {
        let mut puts = 0;
        for now_ms in 0..60_000 {
            budget.refill(now_ms, share_permille);
            if budget.wait_ms().is_none() {
                budget.spend();
                puts += 1;
            }
        }
        puts
    }

    #[test]
    fn a_lane_keeps_to_its_share_of_the_budget() {
        let all = puts_in_a_minute(&mut PutBudget::new(600, 2_000, 1), 1_000);
        assert!((600..=625).contains(&all), "{all}");
        let half = puts_in_a_minute(&mut PutBudget::new(600, 2_000, 2), 500);
        assert!((300..=315).contains(&half), "{half}");
    }

    #[test]
    fn a_lane_that_was_quiet_can_become_busy() {
        let puts = puts_in_a_minute(&mut PutBudget::new(600, 2_000, 4), 0);
        assert!((75..=85).contains(&puts), "{puts}");
    }

    #[test]
    fn what_is_saved_is_bounded() {
        let mut budget = PutBudget::new(60, 10_000, 1);
        budget.refill(3_600_000, 1_000);
        assert_eq!((budget.full_permille(), budget.earn_ms()), (1_000, 1_000));
        let burst = (0..100).take_while(|_| budget.wait_ms().is_none().then(|| budget.spend()).is_some()).count();
        assert_eq!(burst, 11, "one, and those of ten seconds");
        assert_eq!((budget.full_permille(), budget.wait_ms()), (0, Some(1_000)));
    }

    #[test]
    fn without_a_budget_every_flush_is_paid_for() {
        assert_eq!(puts_in_a_minute(&mut PutBudget::new(0, 2_000, 4), 0), 60_000);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut budget = PutBudget::new(u64::MAX, u64::MAX, u32::MAX);
        assert_eq!(budget.earn_ms(), 1_000_000);
        budget.refill(u64::MAX, u32::MAX);
        budget.spend();
        assert_eq!((budget.wait_ms(), budget.full_permille()), (None, 999));
    }
}
