//! Now and then: groups without members are forgotten here, and the host forgets offsets that nobody needs.

use std::time::Duration;

use tokio::time::sleep;

use super::coordinator::Groups;

impl Groups {
    pub(super) async fn tidy_again_and_again(&self) {
        let interval = Duration::from_millis(self.settings.offsets_check_interval_ms);
        loop {
            sleep(self.storage.env().jittered(interval)).await;
            self.tidy().await;
        }
    }

    async fn tidy(&self) {
        let active = self.active();
        self.forget_idle();
        let retention = i64::try_from(self.settings.offsets_retention_ms).unwrap_or(i64::MAX);
        if let Err(error) = self.storage.tidy_group_offsets(active, retention).await {
            tracing::warn!(%error, "a round over the offsets of groups failed; the next one tries again");
        }
    }
}
