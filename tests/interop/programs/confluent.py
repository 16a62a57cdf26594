"""confluent-kafka (librdkafka), with its defaults."""

import functools

import confluent_kafka
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, OffsetSpec, ResourceType,
)
from protocol import emit, emit_record, flush, lines, serve, stopped

POLL_S = 0.5
BATCH = 500


@functools.cache
def admin_of(bootstrap):
    return AdminClient({"bootstrap.servers": bootstrap})


def admin(ask):
    """Kept to the end: a client that is let go before its answer comes never answers."""
    return admin_of(ask["bootstrap"])


def result(futures):
    """Of a call about one thing."""
    (future,) = futures.values()
    return future.result()


def partitions(ask):
    topics = admin(ask).list_topics(ask["topic"], timeout=30).topics
    return sorted(topics[ask["topic"]].partitions)


def version(ask):
    library = confluent_kafka.libversion()[0]
    emit(version=f"confluent-kafka {confluent_kafka.__version__}, librdkafka {library}")


def create(ask):
    result(admin(ask).create_topics([NewTopic(ask["topic"], ask["partitions"])]))


def grow(ask):
    result(admin(ask).create_partitions([NewPartitions(ask["topic"], ask["partitions"])]))


def delete(ask):
    result(admin(ask).delete_topics([ask["topic"]]))


def produce(ask):
    settings = {"bootstrap.servers": ask["bootstrap"]}
    if ask["codec"] != "none":
        settings["compression.type"] = ask["codec"]
    producer, sent, failures = Producer(settings), 0, []

    def delivered(error, _):
        if error:
            failures.append(str(error))

    for key, value, headers in lines(ask["file"]):
        while True:
            try:
                producer.produce(ask["topic"], key=key, value=value, headers=headers, on_delivery=delivered)
                break
            except BufferError:  # its queue is full
                producer.poll(POLL_S)
        sent += 1
        producer.poll(0)
    left = producer.flush()
    if failures or left:
        raise RuntimeError(f"{len(failures)} of {sent} records failed and {left} are left: {failures[:3]}")
    emit(sent=sent)


def consume(ask):
    settings = {"bootstrap.servers": ask["bootstrap"], "group.id": ask["group"], "auto.offset.reset": "earliest"}
    most = ask.get("max")
    if most:
        settings["enable.auto.commit"] = False
    consumer, stop, taken, ends = Consumer(settings), stopped(), 0, {}
    consumer.subscribe([ask["topic"]])
    while not stop.is_set() and not (most and taken == most):
        for message in consumer.consume(min(BATCH, most - taken) if most else BATCH, POLL_S):
            if message.error():
                raise RuntimeError(str(message.error()))
            timestamp, headers = message.timestamp()[1], message.headers() or []
            emit_record(message.partition(), message.offset(), timestamp, message.key(), message.value(), headers)
            ends[message.partition()] = message.offset() + 1
            taken += 1
        flush()
    if most:
        consumer.commit(offsets=[TopicPartition(ask["topic"], *end) for end in ends.items()], asynchronous=False)
    consumer.close()


def offsets(ask):
    spec = {-1: OffsetSpec.latest(), -2: OffsetSpec.earliest()}.get(ask["at"]) or OffsetSpec.for_timestamp(ask["at"])
    asked = {TopicPartition(ask["topic"], partition): spec for partition in partitions(ask)}
    for partition, future in admin(ask).list_offsets(asked).items():
        emit(p=partition.partition, o=future.result().offset)


def delete_records(ask):
    asked = [TopicPartition(ask["topic"], int(partition), offset) for partition, offset in ask["before"].items()]
    for partition, future in admin(ask).delete_records(asked).items():
        emit(p=partition.partition, o=future.result().low_watermark)


def set_config(ask):
    change = ConfigEntry(ask["name"], ask["value"], incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, ask["topic"], incremental_configs=[change])
    result(admin(ask).incremental_alter_configs([resource]))


def get_config(ask):
    found = result(admin(ask).describe_configs([ConfigResource(ResourceType.TOPIC, ask["topic"])]))
    entry = found.get(ask["name"])
    emit(value=entry.value if entry else None)


def describe_group(ask):
    group = result(admin(ask).describe_consumer_groups([ask["group"]]))
    members = [sorted(p.partition for p in member.assignment.topic_partitions) for member in group.members]
    emit(state=group.state.name, members=members)


def committed(ask):
    groups = admin(ask).list_consumer_group_offsets([ConsumerGroupTopicPartitions(ask["group"])])
    for partition in result(groups).topic_partitions:
        emit(p=partition.partition, o=partition.offset)


serve({
    "version": version, "create": create, "grow": grow, "delete": delete, "produce": produce, "consume": consume, "offsets": offsets,
    "delete-records": delete_records, "set-config": set_config, "get-config": get_config, "describe-group": describe_group,
    "committed": committed,
})  # fmt: skip
