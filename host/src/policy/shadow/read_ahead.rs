//! A reader under a candidate: how far it would be read ahead for, and what that would load.
//!
//! Both sides are counted by one model: what lies between the furthest place so far and the one that an answer names is loaded, in GETs of one
//! MiB. What is in the cache already, or never needed, is counted on both sides alike.

use super::Model;
use super::candidate::Ask;
use super::figures::Figures;
use super::queue::Event;
use crate::env::Instant;
use crate::policy::kinds::ReadAhead;
use crate::policy::types::{ReadAheadDecision, ReadAheadView};

/// Bytes of one GET.
const GET_BYTES: u64 = 1 << 20;

/// How far each side has read, in bytes of the reader's run.
#[derive(Default)]
pub(super) struct Reach {
    live: u64,
    candidate: u64,
    run_bytes: u64,
}

impl Model for ReadAhead {
    type Owner = Reach;

    fn owner() -> Reach {
        Reach::default()
    }

    fn happened(reach: &mut Reach, event: Event, ask: &mut Ask<'_, ReadAhead>) {
        let Event::ReadAhead(view, live) = event else { return };
        let candidate = ahead(&view, &ask.answer(&view));
        let live = ahead(&view, &live);
        ask.compared(match candidate.cmp(&live) {
            std::cmp::Ordering::Less => "nearer",
            std::cmp::Ordering::Equal => "same",
            std::cmp::Ordering::Greater => "further",
        });
        if view.run_bytes < reach.run_bytes {
            *reach = Reach::default();
        }
        reach.run_bytes = view.run_bytes;
        let price = ask.context().get_price_nano;
        let load = |place: &mut u64, ahead: u64, side: fn(&mut Figures) -> &mut super::figures::Side| {
            let from = (*place).max(view.run_bytes);
            let to = view.run_bytes.saturating_add(ahead).max(from);
            *place = to;
            ask.count(|figures| {
                let side = side(figures);
                side.bytes += to - from;
                side.pay((to - from).div_ceil(GET_BYTES), price);
            });
        };
        load(&mut reach.live, live, |figures| &mut figures.live);
        load(&mut reach.candidate, candidate, |figures| &mut figures.candidate);
    }

    fn passed(_: &mut Reach, _: Instant, _: &mut Ask<'_, ReadAhead>) {}
}

/// What an answer comes to, within what there is and what the host allows.
fn ahead(view: &ReadAheadView, answer: &ReadAheadDecision) -> u64 {
    let slices = view.slice_bytes.saturating_mul(answer.slices.into());
    answer.bytes.max(slices).min(view.lag_bytes).min(view.budget_free_bytes.saturating_add(view.ready_bytes))
}
