//! Topics over HTTP.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::api::{CreateTopic, OpenPartition, TopicDetail, TopicList};
use super::reply::{Body, Failure, Reply};
use super::to_its_end;
use crate::config::TopicSettings;
use crate::error::{Error, ErrorKind};
use crate::metadata::TopicRecord;
use crate::runtime::{Storage, TopicSpec};
use crate::types::TopicName;

pub(super) async fn list(State(storage): State<Storage>) -> Result<Reply<TopicList>, Failure> {
    Ok(Reply::ok(TopicList { topics: storage.topics().await? }))
}

pub(super) async fn create(State(storage): State<Storage>, Body(body): Body<CreateTopic>) -> Result<Reply<TopicRecord>, Failure> {
    let CreateTopic { name, partitions, lanes, config } = body;
    let spec = TopicSpec { partitions, lanes, config, ..TopicSpec::named(name) };
    let record = to_its_end(async move { storage.create_topic(spec).await }).await?;
    Ok(Reply::created(record))
}

pub(super) async fn describe(
    State(storage): State<Storage>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Reply<TopicDetail>, Failure> {
    let name = checked(name)?;
    let unknown = || Error::new(ErrorKind::NotFound, format!("there is no topic {:?}", name.as_str()));
    let record = storage.topic(&name).await?.ok_or_else(unknown)?;
    let settings = TopicSettings::clone(&*storage.topic_settings(&record)?);
    let mut open_partitions: Vec<OpenPartition> = storage
        .open_partitions()
        .into_iter()
        .filter(|(topic, ..)| *topic == name)
        .map(|(_, partition, o)| OpenPartition { partition, log_start: o.log_start, high_watermark: o.high_watermark })
        .collect();
    open_partitions.sort_by_key(|open| open.partition);
    Ok(Reply::ok(TopicDetail { record, settings, open_partitions }))
}

pub(super) async fn delete(State(storage): State<Storage>, name: Result<Path<String>, PathRejection>) -> Result<StatusCode, Failure> {
    let name = checked(name)?;
    to_its_end(async move { storage.delete_topic(&name).await }).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn checked(name: Result<Path<String>, PathRejection>) -> Result<TopicName, Failure> {
    let Path(name) = name?;
    Ok(TopicName::new(name)?)
}
