//! Metadata.

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse};
use tidegate::env::Env;
use tidegate_tests::wire::name;

use crate::seen::{Seen, codes};

fn read(response: MetadataResponse) -> String {
    codes(response.topics.iter().map(|topic| topic.error_code))
}

fn of(topics: &[&str]) -> MetadataRequest {
    let topics = topics.iter().map(|topic| MetadataRequestTopic::default().with_name(Some(name(topic))));
    MetadataRequest::default().with_topics(Some(topics.collect())).with_allow_auto_topic_creation(false)
}

pub async fn cases(seen: &mut Seen) -> anyhow::Result<()> {
    let (topic, unknown) = (seen.topic.clone(), seen.fresh());
    seen.ask("metadata: of a topic", 9, &of(&[&topic]), read).await?;
    seen.ask("metadata: of no topic", 9, &of(&[]), read).await?;
    seen.ask("metadata: unknown topic", 9, &of(&[&unknown]), read).await?;
    let long = "x".repeat(250);
    for (what, bad) in [("empty", ""), (".", "."), ("with a slash", "a/b"), ("with a space", "a b"), ("of 250 characters", &*long)] {
        seen.ask(&format!("metadata: topic name {what}"), 9, &of(&[bad]), read).await?;
        let creating = of(&[bad]).with_allow_auto_topic_creation(true);
        seen.ask(&format!("metadata: topic name {what}, to be created"), 9, &creating, read).await?;
    }
    let by_id = |id| {
        let topic = MetadataRequestTopic::default().with_name(None).with_topic_id(id);
        MetadataRequest::default().with_topics(Some(vec![topic])).with_allow_auto_topic_creation(false)
    };
    seen.ask("metadata: topic by id", 12, &by_id(seen.id.0), read).await?;
    seen.ask("metadata: unknown topic id", 12, &by_id(Env::system().uuid()), read).await?;
    seen.ask("metadata: topic id of zeros", 12, &by_id(Default::default()), read).await?;
    let mut both = of(&[&topic]);
    both.topics.iter_mut().flatten().for_each(|topic| topic.topic_id = seen.id.0);
    seen.ask("metadata: name and id", 12, &both, read).await?;
    seen.ask("metadata: a topic twice", 9, &of(&[&topic, &topic]), read).await
}
