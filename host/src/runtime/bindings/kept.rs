//! Plugins that went out of use, still loaded: going back to one needs no store, no compiler and no disk.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::policy::PolicySource;

/// Plugins that are kept; an older one is let go and would be loaded from the store.
const KEPT: usize = 64;

/// The last plugins that went out of use, each once.
#[derive(Default)]
pub(super) struct Kept(VecDeque<Arc<dyn PolicySource>>);

impl Kept {
    pub(super) fn add(&mut self, plugin: Arc<dyn PolicySource>) {
        self.0.retain(|kept| kept.digest() != plugin.digest());
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(plugin);
    }

    pub(super) fn find(&self, digest: &str) -> Option<Arc<dyn PolicySource>> {
        self.0.iter().find(|kept| kept.digest() == digest).cloned()
    }
}
