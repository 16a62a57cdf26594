//! What the network does to requests.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tidegate::store::{Fault, Operation, Request, Script, StoreErrorKind};

/// The latest that a late request arrives.
pub(crate) const LATEST: Duration = Duration::from_secs(20);

/// A network that delays everything and spoils a tenth or two.
pub(crate) struct Network {
    rng: StdRng,
    /// Some runs are calm, some are wild.
    trouble_percent: u32,
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ 0x6e65_7477_6f72_6b00);
        let trouble_percent = rng.random_range(0..35);
        Self { rng, trouble_percent }
    }

    fn trouble(&mut self, writes: bool) -> Fault {
        let late = crate::pause(&mut self.rng, LATEST.as_millis() as u64 / 2);
        match self.rng.random_range(0..10) {
            0..2 => Fault::fail(StoreErrorKind::Unavailable),
            2 => Fault::fail(StoreErrorKind::Throttled),
            3 if writes => Fault::fail(StoreErrorKind::Conflict),
            4..6 if writes => Fault::lost_reply(),
            6..8 if writes => Fault::late(late),
            8 if writes => Fault::hang_after_effect(),
            8..10 => Fault::hang(),
            _ => Fault::fail(StoreErrorKind::OutcomeUnknown),
        }
    }
}

impl Script for Network {
    fn fault(&mut self, request: &Request<'_>) -> Fault {
        let writes = matches!(request.operation, Operation::Put | Operation::Delete);
        let spoiled = self.rng.random_range(0..100) < self.trouble_percent;
        let fault = if spoiled { self.trouble(writes) } else { Fault::none() };
        // A request once sent reaches the store though its sender has crashed.
        let fault = if writes && self.rng.random_bool(0.5) { fault.detached() } else { fault };
        fault.before(crate::pause(&mut self.rng, 30)).after(crate::pause(&mut self.rng, 10))
    }
}
