//! The last few views of a site, for trying out what is to decide there next.
//!
//! One call in 64 is sampled, of those that read the clock anyway: a call pays nothing else, and a sampled one a lock that it does not wait
//! for. Memory is taken with the first sample.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::policy::types::{FlushView, IndexView, ReadAheadView};

/// One call in so many is sampled.
pub(super) const SAMPLED: u64 = 64;
/// Views that are kept.
pub(crate) const KEPT: usize = 8;

/// A view of some kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// What a flush policy saw.
    Flush(FlushView),
    /// What an index policy saw.
    Index(IndexView),
    /// What a read-ahead policy saw.
    ReadAhead(ReadAheadView),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<VecDeque<Sample>>);

impl Recent {
    /// Keeps a view, unless somebody else is at it.
    pub(super) fn keep(&self, sample: Sample) {
        let Some(mut kept) = self.0.try_lock() else { return };
        if kept.len() == KEPT {
            kept.pop_front();
        } else if kept.is_empty() {
            kept.reserve_exact(KEPT);
        }
        kept.push_back(sample);
    }

    /// The views, the newest first.
    pub(super) fn views(&self) -> Vec<Sample> {
        self.0.lock().iter().rev().copied().collect()
    }
}

macro_rules! sample {
    ($view:ident, $kind:ident) => {
        impl From<$view> for Sample {
            fn from(view: $view) -> Self {
                Self::$kind(view)
            }
        }

        impl TryFrom<Sample> for $view {
            type Error = ();

            fn try_from(sample: Sample) -> Result<Self, ()> {
                if let Sample::$kind(view) = sample { Ok(view) } else { Err(()) }
            }
        }
    };
}

sample!(FlushView, Flush);
sample!(IndexView, Index);
sample!(ReadAheadView, ReadAhead);

#[cfg(test)]
mod tests {
    use super::*;

    fn view(buffered_bytes: u64) -> Sample {
        FlushView { buffered_bytes, ..FlushView::default() }.into()
    }

    #[test]
    fn the_newest_views_are_kept() {
        let recent = Recent::default();
        (0..20).for_each(|n| recent.keep(view(n)));
        assert_eq!(recent.views(), (12..20).rev().map(view).collect::<Vec<_>>());
    }

    #[test]
    fn a_call_does_not_wait_for_whoever_reads() {
        let recent = Recent::default();
        recent.keep(view(1));
        let reading = recent.0.lock();
        recent.keep(view(2));
        drop(reading);
        assert_eq!(recent.views(), [view(1)]);
    }

    #[test]
    fn a_view_of_another_kind_is_none_of_this_kind() {
        assert_eq!(IndexView::try_from(view(1)), Err(()));
    }
}
