"""aiokafka, with its defaults."""

import asyncio

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import for_code
from protocol import emit, emit_record, flush, lines, serve, stopped

POLL_MS = 500
BATCH = 500  # records between two turns of the event loop, on which its heartbeats run too


def with_admin(work):
    async def run(ask):
        admin = AIOKafkaAdminClient(bootstrap_servers=ask["bootstrap"])
        await admin.start()
        try:
            await work(admin, ask)
        finally:
            await admin.close()

    return lambda ask: asyncio.run(run(ask))


def raise_any(errors):
    """aiokafka leaves it to its user to look at the error codes of an answer."""
    for error in errors:
        code, message = error[1], error[2] if len(error) > 2 else ""
        if code:
            raise for_code(code)(message)


def version(_):
    emit(version=f"aiokafka {aiokafka.__version__}")


@with_admin
async def create(admin, ask):
    answer = await admin.create_topics([NewTopic(ask["topic"], ask["partitions"], 1)])
    raise_any(answer.topic_errors)


@with_admin
async def grow(admin, ask):
    answer = await admin.create_partitions({ask["topic"]: NewPartitions(ask["partitions"])})
    raise_any(answer.topic_errors)


@with_admin
async def delete(admin, ask):
    answer = await admin.delete_topics([ask["topic"]])
    raise_any(answer.topic_error_codes)


def produce(ask):
    asyncio.run(send_all(ask))


async def send_all(ask):
    codec = None if ask["codec"] == "none" else ask["codec"]
    producer = AIOKafkaProducer(bootstrap_servers=ask["bootstrap"], compression_type=codec)
    await producer.start()
    try:
        waiting = [await producer.send(ask["topic"], value, key, headers=headers) for key, value, headers in lines(ask["file"])]
        await asyncio.gather(*waiting)
    finally:
        await producer.stop()
    emit(sent=len(waiting))


def consume(ask):
    asyncio.run(read(ask))


async def read(ask):
    most, taken, ends = ask.get("max"), 0, {}
    settings = {"enable_auto_commit": False} if most else {}
    consumer = AIOKafkaConsumer(
        ask["topic"], bootstrap_servers=ask["bootstrap"], group_id=ask["group"], auto_offset_reset="earliest", **settings
    )
    stop = stopped()
    await consumer.start()
    try:
        while not stop.is_set() and not (most and taken == most):
            found = await consumer.getmany(timeout_ms=POLL_MS, max_records=min(BATCH, most - taken) if most else BATCH)
            for partition, records in found.items():
                for r in records:
                    emit_record(r.partition, r.offset, r.timestamp, r.key, r.value, r.headers)
                ends[partition] = records[-1].offset + 1
                taken += len(records)
            flush()
            await asyncio.sleep(0)
        if most:
            await consumer.commit(ends)
    finally:
        await consumer.stop()


def offsets(ask):
    asyncio.run(look_up(ask))


async def look_up(ask):
    consumer = AIOKafkaConsumer(ask["topic"], bootstrap_servers=ask["bootstrap"])
    await consumer.start()
    try:
        asked = [TopicPartition(ask["topic"], partition) for partition in sorted(consumer.partitions_for_topic(ask["topic"]))]
        if ask["at"] == -1:
            found = await consumer.end_offsets(asked)
        elif ask["at"] == -2:
            found = await consumer.beginning_offsets(asked)
        else:
            times = await consumer.offsets_for_times({partition: ask["at"] for partition in asked})
            found = {partition: answer.offset if answer else -1 for partition, answer in times.items()}
        for partition, offset in found.items():
            emit(p=partition.partition, o=offset)
    finally:
        await consumer.stop()


@with_admin
async def delete_records(admin, ask):
    asked = {TopicPartition(ask["topic"], int(p)): RecordsToDelete(before_offset=o) for p, o in ask["before"].items()}
    for partition, low in (await admin.delete_records(asked)).items():
        emit(p=partition.partition, o=low)


@with_admin
async def set_config(admin, ask):
    resource = ConfigResource(ConfigResourceType.TOPIC, ask["topic"], configs={ask["name"]: ask["value"]})
    for answer in await admin.alter_configs([resource]):
        raise_any([(None, code, message) for code, message, *_ in answer.resources])


@with_admin
async def get_config(admin, ask):
    for answer in await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, ask["topic"])]):
        for code, message, _, _, entries in answer.resources:
            raise_any([(None, code, message)])
            emit(value={entry[0]: entry[1] for entry in entries}.get(ask["name"]))


@with_admin
async def describe_group(admin, ask):
    for answer in await admin.describe_consumer_groups([ask["group"]]):
        for code, _, state, _, _, members, *_ in answer.groups:
            raise_any([(None, code)])
            emit(state=state, members=[assigned(member[4]) for member in members])


def assigned(assignment):
    if not assignment:
        return []
    decoded = ConsumerProtocolMemberAssignment.decode(assignment)
    return sorted(partition for _, partitions in decoded.assignment for partition in partitions)


@with_admin
async def committed(admin, ask):
    for partition, found in (await admin.list_consumer_group_offsets(ask["group"])).items():
        emit(p=partition.partition, o=found.offset)


serve({
    "version": version, "create": create, "grow": grow, "delete": delete, "produce": produce, "consume": consume, "offsets": offsets,
    "delete-records": delete_records, "set-config": set_config, "get-config": get_config, "describe-group": describe_group,
    "committed": committed,
})  # fmt: skip
