//! One broker under question: odd requests go in, and what it answers is noted by the name of the case.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{CreateTopicsRequest, ListOffsetsRequest, MetadataRequest};
use kafka_protocol::protocol::Request;
use tidegate::env::Env;
use tidegate::types::TopicId;
use tidegate_tests::member::text;
use tidegate_tests::wire::{Client, batch, name};
use tokio::time::{sleep, timeout};

/// How long a broker may take to answer before the case is "no answer": no measure of anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a coordinator says that is not there yet: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
const LOADING: [&str; 3] = ["14", "15", "16"];
/// Requests that are asked again at most.
const TRIES: u32 = 200;

/// A broker, and its answers so far.
pub struct Seen {
    address: SocketAddr,
    unique: String,
    fresh: u32,
    /// A topic of two partitions, with offsets 0 and 1 in the first.
    pub topic: String,
    /// Its id.
    pub id: TopicId,
    /// Outcomes by case, in order.
    pub outcomes: Vec<(String, String)>,
}

/// Error codes, one after the other.
pub fn codes(codes: impl IntoIterator<Item = i16>) -> String {
    codes.into_iter().map(|code| code.to_string()).collect::<Vec<_>>().join(" ")
}

impl Seen {
    /// A broker that the cases can be put to: it has the topic that they are about.
    pub async fn at(address: SocketAddr) -> anyhow::Result<Self> {
        let unique = Env::system().uuid().simple().to_string();
        let mut seen = Self { address, unique, fresh: 0, topic: String::new(), id: TopicId(Default::default()), outcomes: Vec::new() };
        (seen.topic, seen.id) = seen.new_topic(2).await?;
        let mut client = seen.client().await?;
        let topic = seen.topic.clone();
        ensure!(client.produce(&topic, 0, batch(&[b"a", b"b"])).await?.error_code == 0, "records are not taken");
        Ok(seen)
    }

    /// A connection.
    pub async fn client(&self) -> anyhow::Result<Client> {
        Client::connect(self.address).await
    }

    /// A name that the broker never heard.
    pub fn fresh(&mut self) -> String {
        self.fresh += 1;
        format!("n{}-{}", self.fresh, self.unique)
    }

    /// A new topic whose partitions are served: the answer to its creation may come before they are.
    pub async fn new_topic(&mut self, partitions: i32) -> anyhow::Result<(String, TopicId)> {
        let topic = self.fresh();
        let mut client = self.client().await?;
        // The records here are of 1970.
        let config = CreatableTopicConfig::default().with_name(text("retention.ms")).with_value(Some(text("-1")));
        let new = CreatableTopic::default().with_name(name(&topic)).with_num_partitions(partitions).with_replication_factor(1);
        let created = client.call(5, &CreateTopicsRequest::default().with_topics(vec![new.with_configs(vec![config])])).await?;
        ensure!(created.topics[0].error_code == 0, "topic not created: {created:?}");
        let id = timeout(PATIENCE, served(&mut client, &topic, partitions)).await.context("a new topic is not served")??;
        Ok((topic, id))
    }

    /// Notes an outcome.
    pub fn note(&mut self, case: &str, outcome: String) {
        assert!(self.outcomes.iter().all(|(known, _)| known != case), "two cases are called {case:?}");
        self.outcomes.push((case.to_owned(), outcome));
    }

    /// Puts a request on a connection of its own and notes what `read` makes of the answer. What is asked while a
    /// coordinator loads its state is asked again.
    pub async fn ask<R: Request>(
        &mut self,
        case: &str,
        version: i16,
        request: &R,
        read: impl Fn(R::Response) -> String,
    ) -> anyhow::Result<()> {
        let mut tries = 0;
        let outcome = loop {
            let outcome = self.answer(version, request, &read).await.with_context(|| case.to_owned())?;
            tries += 1;
            if tries == TRIES || !outcome.split([' ', '[', ']']).any(|code| LOADING.contains(&code)) {
                break outcome;
            }
            sleep(Duration::from_millis(50)).await;
        };
        self.note(case, outcome);
        Ok(())
    }

    async fn answer<R: Request>(&self, version: i16, request: &R, read: impl Fn(R::Response) -> String) -> anyhow::Result<String> {
        let mut client = self.client().await?;
        client.send(version, request).await?;
        Ok(match timeout(PATIENCE, client.receive_raw()).await {
            Err(_) => "no answer".into(),
            Ok(Err(_)) => "closed".into(),
            Ok(Ok(bytes)) => read(decode::<R>(bytes, version)?),
        })
    }

    /// Puts bytes behind a length of their own, or the one given, and notes whether an answer comes: its error code, if it starts with one.
    pub async fn raw(&mut self, case: &str, length: Option<i32>, frame: &[u8]) -> anyhow::Result<()> {
        let mut client = self.client().await?;
        let mut bytes = BytesMut::new();
        bytes.put_i32(length.unwrap_or(frame.len() as i32));
        bytes.put_slice(frame);
        client.send_raw(&bytes).await?;
        let outcome = match timeout(PATIENCE, client.receive_raw()).await {
            Err(_) => "no answer".into(),
            Ok(Err(_)) => "closed".into(),
            Ok(Ok(answer)) => answer.get(4..6).map_or_else(|| "short".into(), |code| i16::from_be_bytes([code[0], code[1]]).to_string()),
        };
        self.note(case, outcome);
        Ok(())
    }
}

/// Waits until each partition tells its offsets. The topic's id.
async fn served(client: &mut Client, topic: &str, partitions: i32) -> anyhow::Result<TopicId> {
    let latest = |partition| ListOffsetsPartition::default().with_partition_index(partition).with_timestamp(-1);
    let asked = ListOffsetsTopic::default().with_name(name(topic)).with_partitions((0..partitions).map(latest).collect());
    let offsets = ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![asked]);
    while client.call(7, &offsets).await?.topics[0].partitions.iter().any(|partition| partition.error_code != 0) {
        sleep(Duration::from_millis(20)).await;
    }
    let asked = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let response = client.call(12, &MetadataRequest::default().with_topics(Some(vec![asked]))).await?;
    Ok(TopicId(response.topics[0].topic_id))
}

fn decode<R: Request>(mut bytes: Bytes, version: i16) -> anyhow::Result<R::Response> {
    use kafka_protocol::messages::ResponseHeader;
    use kafka_protocol::protocol::{Decodable, HeaderVersion};
    ResponseHeader::decode(&mut bytes, R::Response::header_version(version))?;
    R::Response::decode(&mut bytes, version)
}
