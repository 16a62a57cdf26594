//! Requests for the same place take effect in the order of their arrival, whatever each of them has to wait for.
//!
//! Checking and compiling a component takes long and happens side by side, so a request that came first may be ready last. Each takes a
//! ticket when it arrives. Before it changes anything it waits for all later ones: once one of those has won, it is superseded; if they
//! were refused, it goes on. The latest never waits, so nobody waits for ever. Of other places a request knows nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::metadata::Place;

/// Tickets that are out, by place.
pub(super) struct Turns {
    places: Mutex<BTreeMap<Place, Queue>>,
    /// Changes whenever a ticket won or was given back.
    moved: watch::Sender<()>,
}

#[derive(Default)]
struct Queue {
    next: u64,
    /// Who still waits or works, by ticket.
    pending: BTreeMap<u64, String>,
    /// The latest that changed the place, and who it was.
    won: Option<(u64, String)>,
}

/// A request's place in the order; gives itself back when dropped.
pub(super) struct Ticket {
    turns: Arc<Turns>,
    place: Place,
    number: u64,
}

/// Where a request stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// No later request is under way: it may change the place.
    First,
    /// A later one is under way.
    Waiting,
    /// A later one, of this person, has won.
    Superseded(String),
}

impl Turns {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { places: Mutex::default(), moved: watch::Sender::new(()) })
    }

    /// A ticket behind all that came before.
    pub(super) fn arrive(self: &Arc<Self>, place: Place, by: &str) -> Ticket {
        let mut places = self.places.lock();
        let queue = places.entry(place.clone()).or_default();
        let number = queue.next;
        queue.next += 1;
        queue.pending.insert(number, by.to_owned());
        drop(places);
        Ticket { turns: self.clone(), place, number }
    }
}

impl Ticket {
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn standing(&self) -> Standing {
        let places = self.turns.places.lock();
        let Some(queue) = places.get(&self.place) else { return Standing::First };
        match &queue.won {
            Some((winner, by)) if *winner > self.number => Standing::Superseded(by.clone()),
            _ if queue.pending.last_key_value().is_some_and(|(last, _)| *last > self.number) => Standing::Waiting,
            _ => Standing::First,
        }
    }

    /// Where it stands once no later request is under way, or one has won.
    pub(super) async fn settled(&self) -> Standing {
        let mut moved = self.turns.moved.subscribe();
        loop {
            match self.standing() {
                Standing::Waiting => drop(moved.changed().await),
                standing => return standing,
            }
        }
    }

    /// Whether earlier requests are under way, which this one will supersede.
    pub(super) fn has_earlier(&self) -> bool {
        let places = self.turns.places.lock();
        places.get(&self.place).is_some_and(|queue| queue.pending.range(..self.number).next().is_some())
    }

    /// It has changed the place: all earlier ones are superseded.
    pub(super) fn win(&self) {
        if let Some(queue) = self.turns.places.lock().get_mut(&self.place) {
            let by = queue.pending.get(&self.number).cloned().unwrap_or_default();
            queue.won = Some((self.number, by));
        }
        self.turns.moved.send_replace(());
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut places = self.turns.places.lock();
        if let Some(queue) = places.get_mut(&self.place) {
            queue.pending.remove(&self.number);
            if queue.pending.is_empty() {
                places.remove(&self.place);
            }
        }
        drop(places);
        self.turns.moved.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::policy::Kind;

    fn place(pattern: &str) -> Place {
        Place { pattern: pattern.into(), kind: Kind::Flush }
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn the_later_request_wins_and_the_earlier_one_learns_of_whom() {
        let turns = Turns::new();
        let (earlier, later) = (turns.arrive(place("*"), "ann"), turns.arrive(place("*"), "bob"));
        let mut waiting = pin!(earlier.settled());
        assert_eq!(poll(waiting.as_mut()), Poll::Pending);
        assert_eq!(later.standing(), Standing::First);
        later.win();
        assert_eq!(poll(waiting.as_mut()), Poll::Ready(Standing::Superseded("bob".into())));
        drop(later);
        assert_eq!(earlier.standing(), Standing::Superseded("bob".into()));
    }

    #[test]
    fn a_later_request_that_is_refused_lets_the_earlier_one_go_on() {
        let turns = Turns::new();
        let (earlier, later) = (turns.arrive(place("*"), "ann"), turns.arrive(place("*"), "bob"));
        let mut waiting = pin!(earlier.settled());
        assert_eq!(poll(waiting.as_mut()), Poll::Pending);
        drop(later);
        assert_eq!(poll(waiting.as_mut()), Poll::Ready(Standing::First));
    }

    #[test]
    fn an_earlier_winner_supersedes_nobody_and_other_places_do_not_matter() {
        let turns = Turns::new();
        let (first, second, other) = (turns.arrive(place("*"), "a"), turns.arrive(place("*"), "b"), turns.arrive(place("x"), "c"));
        first.win();
        assert_eq!((second.standing(), other.standing()), (Standing::First, Standing::First));
        assert!(second.has_earlier() && !first.has_earlier() && !other.has_earlier());
    }

    #[test]
    fn nothing_is_kept_of_places_that_nobody_asks_for() {
        let turns = Turns::new();
        turns.arrive(place("*"), "a").win();
        assert!(turns.places.lock().is_empty());
    }
}
