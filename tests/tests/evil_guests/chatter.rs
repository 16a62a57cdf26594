//! A guest that logs for ever.

use std::sync::Arc;

use parking_lot::Mutex;
use tidegate::policy::Kind;
use tracing_subscriber::fmt::MakeWriter;

use crate::kit::{Bench, alone, evil, good, mode, settings, trigger};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_guest_that_logs_for_ever_fills_no_log_and_forges_no_line() {
    if !alone("chatter::a_guest_that_logs_for_ever_fills_no_log_and_forges_no_line") {
        return;
    }
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false).without_time().finish();
    let _here = tracing::subscriber::set_default(subscriber);
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, evil(), mode("chatter")).await;
    let mut policy = bench.flush("noisy");
    policy.decide(&trigger());
    assert_eq!(bench.status("noisy").last_class, "call.timeout", "the deadline fires in spite of it");
    assert_eq!(policy.decide(&crate::kit::empty()), good());

    let text = String::from_utf8(lines.0.lock().clone()).unwrap();
    let told: Vec<&str> = text.lines().filter(|line| line.contains("tidegate::plugin")).collect();
    // A burst of 50, and 10 for each second that it was let: its deadline is a fifth of one.
    assert!((50..=100).contains(&told.len()), "{} lines", told.len());
    assert!(told.iter().all(|line| line.len() < 5_000 && line.contains("noisy") && line.contains("evil-guest")), "{}", told[0]);
    assert!(told[0].contains(r"again\n\u{1b}[2J and again"), "{}", told[0]);
    assert!(!text.contains('\x1b'), "an escape code went through");
    let faults = text.lines().filter(|line| line.contains("policy failed; the built-in answered")).count();
    assert_eq!(faults, 1, "one line for the fault: {text}");
}
