//! A lane under a candidate: a write buffer of counters alone, fed by the appends of the real one.
//!
//! Time is that of the events: a bound is crossed here at the moment at which it would have been, however late the shadow hears of it. An
//! upload takes what the lane's own take at the median. Producers are those of the live policy: one that waits for its ack sends on when the
//! live policy flushes, so that a candidate that waits much longer is told more appends than its own producers would have sent.

use std::collections::VecDeque;
use std::time::Duration;

use super::Model;
use super::candidate::Ask;
use super::figures::Samples;
use super::queue::{Appends, Event};
use crate::env::Instant;
use crate::policy::kinds::Flush;
use crate::policy::types::{Context, FlushBounds, FlushDecision, FlushReason, FlushView};

/// What an upload takes while none was seen.
const FIRST_UPLOAD: Duration = Duration::from_millis(50);
/// Events of the virtual lane at one real one, at most: what is beyond is looked at with the next.
const MOST_STEPS: usize = 1_000;

/// A virtual lane.
pub(super) struct Lane {
    began: Option<Instant>,
    now: Option<Instant>,
    buffer: Option<Buffer>,
    plan: Plan,
    /// When each upload in flight ends, and when its oldest append came.
    uploads: VecDeque<(Instant, Instant)>,
    upload_us: Samples,
    acks_us: Samples,
    /// What the live policy saw last: of what a shadow cannot know by itself.
    seen: FlushView,
    /// Appends in the live buffer, for the share of them that wait.
    live_appends: u64,
    /// Segments since the live lane's last.
    seals: u32,
}

#[derive(Clone, Copy)]
struct Buffer {
    oldest: Instant,
    newest: Instant,
    appends: u64,
    bytes: u64,
    records: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Plan {
    Ask,
    Due,
    Until(FlushBounds),
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros().try_into().unwrap_or(u64::MAX)
}

impl Model for Flush {
    type Owner = Lane;

    fn owner() -> Lane {
        Lane {
            began: None,
            now: None,
            buffer: None,
            plan: Plan::Ask,
            uploads: VecDeque::new(),
            upload_us: Samples::default(),
            acks_us: Samples::default(),
            seen: FlushView::default(),
            live_appends: 0,
            seals: 0,
        }
    }

    fn happened(lane: &mut Lane, event: Event, ask: &mut Ask<'_, Flush>) {
        match event {
            Event::Appended(appends) => lane.appended(appends, ask),
            Event::Asked(view) => lane.seen = view,
            Event::Sealed(at) => lane.live_sealed(at, ask),
            Event::Uploaded(took) => lane.upload_us.add(micros(took)),
            Event::Committed(waited) => ask.count(|figures| figures.live.acks_us.add(micros(waited))),
            Event::Indexed(..) | Event::ReadAhead(..) => {}
        }
    }

    fn passed(lane: &mut Lane, now: Instant, ask: &mut Ask<'_, Flush>) {
        if lane.now.is_some() {
            lane.advance(now, ask);
        }
    }
}

impl Lane {
    fn appended(&mut self, appends: Appends, ask: &mut Ask<'_, Flush>) {
        self.began.get_or_insert(appends.first);
        self.advance(appends.first, ask);
        let Appends { first, last, count, bytes, records } = appends;
        let buffer = self.buffer.get_or_insert(Buffer { oldest: first, newest: last, appends: 0, bytes: 0, records: 0 });
        buffer.newest = last;
        buffer.appends += count;
        buffer.bytes += bytes;
        buffer.records += records;
        self.live_appends += count;
        self.now = Some(last);
        self.step(last, FlushReason::Bound, ask);
    }

    /// The live lane has made a segment: how many has this one made meanwhile?
    fn live_sealed(&mut self, at: Instant, ask: &mut Ask<'_, Flush>) {
        self.advance(at, ask);
        self.live_appends = 0;
        ask.compared(match std::mem::take(&mut self.seals) {
            0 => "later",
            1 => "same",
            _ => "sooner",
        });
        let price = ask.context().put_price_nano;
        ask.count(|figures| figures.live.pay(1, price));
    }

    /// Lets time pass up to `to`.
    fn advance(&mut self, to: Instant, ask: &mut Ask<'_, Flush>) {
        for _ in 0..MOST_STEPS {
            let upload = self.uploads.front().map(|(done, _)| *done);
            let deadline = self.deadline(ask.context());
            match (upload, deadline) {
                (Some(done), bound) if done <= to && bound.is_none_or(|bound| done <= bound) => {
                    self.uploaded(done, ask);
                }
                (_, Some(bound)) if bound <= to => {
                    self.now = self.now.max(Some(bound));
                    self.step(bound, FlushReason::Bound, ask);
                }
                _ => break,
            }
        }
        self.now = self.now.max(Some(to));
    }

    fn uploaded(&mut self, done: Instant, ask: &mut Ask<'_, Flush>) {
        let Some((_, oldest)) = self.uploads.pop_front() else { return };
        let waited = micros(done.saturating_duration_since(oldest));
        self.acks_us.add(waited);
        ask.count(|figures| figures.candidate.acks_us.add(waited));
        self.now = self.now.max(Some(done));
        self.step(done, FlushReason::UploadDone, ask);
    }

    /// When time alone makes the buffer due.
    fn deadline(&self, context: &Context) -> Option<Instant> {
        let buffer = self.buffer.as_ref().filter(|_| self.uploads.len() < context.window as usize)?;
        let oldest = buffer.oldest + Duration::from_micros(context.max_age_us);
        let Plan::Until(bounds) = self.plan else { return Some(oldest) };
        let after = |start: Instant, us: u64| start.checked_add(Duration::from_micros(us));
        let bounds = [after(buffer.oldest, bounds.age_us), after(buffer.newest, bounds.quiet_us)];
        bounds.into_iter().flatten().chain([oldest]).min()
    }

    /// Does what a lane's task does when it looks: seals what is due, asks if a bound is crossed.
    fn step(&mut self, now: Instant, reason: FlushReason, ask: &mut Ask<'_, Flush>) {
        let Some(buffer) = self.buffer else { return };
        let context = *ask.context();
        if self.uploads.len() >= context.window as usize {
            return;
        }
        let old = now.saturating_duration_since(buffer.oldest) >= Duration::from_micros(context.max_age_us);
        if old || buffer.bytes >= context.max_segment_bytes || self.wants(now, reason, ask) {
            self.seal(now, ask);
        }
    }

    fn wants(&mut self, now: Instant, reason: FlushReason, ask: &mut Ask<'_, Flush>) -> bool {
        let reason = match self.plan {
            Plan::Due => return true,
            Plan::Ask => FlushReason::FirstAppend,
            Plan::Until(_) if reason == FlushReason::Bound && !self.is_crossed(now) => return false,
            Plan::Until(_) => reason,
        };
        let Some(view) = self.view(now, reason) else { return false };
        self.plan = match ask.answer(&view) {
            FlushDecision::Now => Plan::Due,
            FlushDecision::Wait(bounds) => Plan::Until(bounds),
        };
        self.is_crossed(now)
    }

    fn is_crossed(&self, now: Instant) -> bool {
        let Some(buffer) = &self.buffer else { return false };
        let since = |at: Instant| micros(now.saturating_duration_since(at));
        match &self.plan {
            Plan::Ask => false,
            Plan::Due => true,
            Plan::Until(b) => {
                b.crossed(buffer.bytes, buffer.records, since(buffer.oldest), since(buffer.newest), self.uploads.len() as u32)
            }
        }
    }

    fn seal(&mut self, now: Instant, ask: &mut Ask<'_, Flush>) {
        let Some(buffer) = self.buffer.take() else { return };
        self.plan = Plan::Ask;
        self.seals += 1;
        let took = match self.upload_us.percentile(50) {
            0 => FIRST_UPLOAD,
            us => Duration::from_micros(us),
        };
        let after_the_last = self.uploads.back().map(|(done, _)| *done);
        self.uploads.push_back(((now + took).max(after_the_last.unwrap_or(now)), buffer.oldest));
        let price = ask.context().put_price_nano;
        ask.count(|figures| figures.candidate.pay(1, price));
    }

    fn view(&self, now: Instant, reason: FlushReason) -> Option<FlushView> {
        let (buffer, began) = (self.buffer.as_ref()?, self.began?);
        let waiting = buffer.appends.saturating_mul(self.seen.waiting_acks.into()).div_ceil(self.live_appends.max(1));
        Some(FlushView {
            reason,
            now_ms: now.saturating_duration_since(began).as_millis().try_into().unwrap_or(u64::MAX),
            buffered_bytes: buffer.bytes,
            buffered_records: buffer.records,
            oldest_age_us: micros(now.saturating_duration_since(buffer.oldest)),
            quiet_us: micros(now.saturating_duration_since(buffer.newest)),
            waiting_acks: waiting.min(buffer.appends).try_into().unwrap_or(u32::MAX),
            uploads_in_flight: self.uploads.len() as u32,
            upload_p50_us: self.upload_us.percentile(50),
            ack_p99_us: self.acks_us.percentile(99),
            ..self.seen
        })
    }
}
