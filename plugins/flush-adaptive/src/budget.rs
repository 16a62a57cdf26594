//! A lane's part of a topic's budget of PUTs: a bucket that fills with time and pays for flushes.

/// One PUT, in the bucket's units.
const PUT: u64 = 1_000_000;
/// So much of the budget may be saved up, in milliseconds.
const SAVED_MS: u64 = 2_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Budget {
    /// PUTs per minute of the topic; 0: no budget.
    puts_per_min: u64,
    /// The share of a lane in the topic's PUTs if all flush alike, in permille.
    even_permille: u64,
    tokens: u64,
    per_ms: u64,
    refilled_ms: u64,
}

impl Budget {
    pub(crate) fn new(puts_per_min: u64, lanes: u32) -> Self {
        let even_permille = (1_000 / u64::from(lanes.max(1))).max(1);
        Self { puts_per_min, even_permille, tokens: 2 * PUT, per_ms: 0, refilled_ms: 0 }
    }

    /// Lets time pass. A busy lane gets the share that it has of its topic's PUTs, a quiet one no less than half of an even share: else it could
    /// never become busy.
    pub(crate) fn refill(&mut self, now_ms: u64, share_permille: u32) {
        let share = u64::from(share_permille).min(1_000).max(self.even_permille.div_ceil(2));
        self.per_ms = (self.puts_per_min.saturating_mul(share).saturating_mul(PUT / 1_000) / 60_000).max(1);
        let passed = now_ms.saturating_sub(self.refilled_ms);
        self.refilled_ms = now_ms;
        let most = PUT + self.per_ms.saturating_mul(SAVED_MS);
        self.tokens = self.tokens.saturating_add(passed.saturating_mul(self.per_ms)).min(most);
    }

    /// Pays for a flush, whoever asked for it.
    pub(crate) fn spend(&mut self) {
        self.tokens = self.tokens.saturating_sub(PUT);
    }

    /// Milliseconds until a flush is paid for; `None`: it is.
    pub(crate) fn wait_ms(&self) -> Option<u64> {
        let short = PUT.saturating_sub(self.tokens);
        (self.puts_per_min > 0 && short > 0).then(|| short.div_ceil(self.per_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PUTs that a lane can make in a minute, asking each millisecond.
    fn puts_in_a_minute(budget: &mut Budget, share_permille: u32) -> u64 {
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
        let all = puts_in_a_minute(&mut Budget::new(600, 1), 1_000);
        assert!((600..=625).contains(&all), "{all}");
        let half = puts_in_a_minute(&mut Budget::new(600, 2), 500);
        assert!((300..=315).contains(&half), "{half}");
    }

    #[test]
    fn a_lane_that_was_quiet_can_become_busy() {
        let puts = puts_in_a_minute(&mut Budget::new(600, 4), 0);
        assert!((75..=85).contains(&puts), "{puts}");
    }

    #[test]
    fn without_a_budget_every_flush_is_paid_for() {
        assert_eq!(puts_in_a_minute(&mut Budget::new(0, 4), 0), 60_000);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut budget = Budget::new(u64::MAX, u32::MAX);
        budget.refill(u64::MAX, u32::MAX);
        budget.spend();
        assert_eq!(budget.wait_ms(), None);
    }
}
