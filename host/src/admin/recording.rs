//! Recordings of requests over HTTP.

use axum::extract::State;

use super::api::RecordingState;
use super::reply::{Body, Failure, Reply};
use crate::runtime::{Recorded, RecordingSpec, Storage};

pub(super) async fn state(State(storage): State<Storage>) -> Result<Reply<RecordingState>, Failure> {
    let (ended, requests) = storage.recording_state()?;
    Ok(Reply::ok(RecordingState { ended, requests }))
}

pub(super) async fn start(State(storage): State<Storage>, Body(spec): Body<RecordingSpec>) -> Result<Reply<RecordingState>, Failure> {
    storage.start_recording(spec)?;
    Ok(Reply::created(RecordingState { ended: false, requests: 0 }))
}

pub(super) async fn stop(State(storage): State<Storage>) -> Result<Reply<Recorded>, Failure> {
    Ok(Reply::ok(storage.stop_recording()?))
}
