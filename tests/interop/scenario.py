"""The commands that Apache Kafka's tools are given, in order: each leaves a state that later ones look at."""

import json
from dataclasses import dataclass

import tidy

TOOLS = "org.apache.kafka.tools."
MAIN = {
    "kafka-acls": TOOLS + "AclCommand",
    "kafka-configs": TOOLS + "ConfigCommand",
    "kafka-consumer-groups": TOOLS + "consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": TOOLS + "ConsumerPerformance",
    "kafka-delete-records": TOOLS + "DeleteRecordsCommand",
    "kafka-get-offsets": TOOLS + "GetOffsetShell",
    "kafka-log-dirs": TOOLS + "LogDirsCommand",
    "kafka-producer-perf-test": TOOLS + "ProducerPerformance",
    "kafka-topics": TOOLS + "TopicCommand",
    "kafka-verifiable-consumer": TOOLS + "VerifiableConsumer",
    "kafka-verifiable-producer": TOOLS + "VerifiableProducer",
}
RECORDS = 1000
PERF_RECORDS = 20000


@dataclass(frozen=True)
class Command:
    """`needed`: later ones rest on it. `refused`: an error is the right answer. `own`: what it prints is each broker's own affair."""

    tool: str
    name: str
    options: str
    tidy: object = tidy.as_is
    needed: bool = False
    refused: bool = False
    own: bool = False
    file: tuple = ()

    @property
    def main(self):
        return MAIN[self.tool]

    @property
    def arguments(self):
        return ["--bootstrap-server", "{bootstrap}", *self.options.split()]

    def prepare(self, folder):
        """Writes the file that its options name, if there is one."""
        if self.file:
            name, content = self.file
            (folder / name).write_text(json.dumps(content))


def topics(name, options, **more):
    return Command("kafka-topics", f"topics-{name}", options, **more)


def configs(name, options, **more):
    return Command("kafka-configs", f"configs-{name}", options, **more)


def groups(name, options, **more):
    return Command("kafka-consumer-groups", f"groups-{name}", options, **more)


def get_offsets(name, options, **more):
    return Command("kafka-get-offsets", f"offsets-{name}", options, **more)


def acls(name, options, **more):
    return Command("kafka-acls", f"acls-{name}", options, **more)


DELETED = {"version": 1, "partitions": [{"topic": "words", "partition": 0, "offset": 10}, {"topic": "words", "partition": 1, "offset": -1}]}

COMMANDS = (
    topics("create", "--create --topic words --partitions 4 --replication-factor 1", needed=True),
    topics("create-again", "--create --topic words --partitions 4", refused=True),
    topics("create-if-not-exists", "--create --topic words --if-not-exists"),
    topics("create-with-config", "--create --topic kept --partitions 1 --config retention.ms=86400000", needed=True),
    topics("create-bad-name", "--create --topic a/b --partitions 1", refused=True),
    topics("list", "--list", tidy=tidy.in_order),
    topics("describe", "--describe --topic words"),
    topics("describe-config", "--describe --topic kept"),
    topics("describe-missing", "--describe --topic nowhere", refused=True),
    topics("grow", "--alter --topic words --partitions 6", needed=True),
    topics("shrink", "--alter --topic words --partitions 2", refused=True),
    topics("describe-grown", "--describe --topic words"),
    Command(
        "kafka-verifiable-producer", "verifiable-producer", f"--topic words --max-messages {RECORDS} --repeating-keys 50",
        tidy=tidy.sent_lines, needed=True,
    ),
    Command("kafka-log-dirs", "log-dirs", "--describe --topic-list words", tidy=tidy.log_dirs),
    get_offsets("latest", "--topic words", needed=True),
    get_offsets("earliest", "--topic words --time earliest"),
    get_offsets("max-timestamp", "--topic words --time max-timestamp", own=True),
    get_offsets("of-all", "--topic-partitions words:0-2"),
    get_offsets("missing", "--topic nowhere", refused=True),
    Command(
        "kafka-verifiable-consumer", "verifiable-consumer", f"--topic words --group-id readers --max-messages {RECORDS} --reset-policy earliest",
        tidy=tidy.consumed_lines, needed=True,
    ),
    groups("list", "--list", tidy=tidy.in_order),
    groups("list-state", "--list --state", tidy=tidy.in_order),
    groups("describe", "--describe --group readers", tidy=tidy.in_order),
    groups("describe-state", "--describe --group readers --state"),
    groups("describe-members", "--describe --group readers --members"),
    groups("describe-offsets", "--describe --all-groups --offsets", tidy=tidy.in_order),
    groups("describe-missing", "--describe --group nobody", refused=True),
    groups("reset-dry", "--reset-offsets --group readers --topic words --to-earliest --dry-run", tidy=tidy.in_order),
    groups("reset", "--reset-offsets --group readers --topic words --to-earliest --execute", tidy=tidy.in_order),
    groups("describe-reset", "--describe --group readers", tidy=tidy.in_order),
    groups("delete-offsets", "--delete-offsets --group readers --topic words", tidy=tidy.in_order),
    groups("reset-new", "--reset-offsets --group others --topic words --to-latest --execute", tidy=tidy.in_order, needed=True),
    groups("delete", "--delete --group others"),
    groups("delete-missing", "--delete --group nobody", refused=True),
    Command(
        "kafka-delete-records", "delete-records", "--offset-json-file {folder}/deleted.json",
        tidy=tidy.in_order, needed=True, file=("deleted.json", DELETED),
    ),
    get_offsets("after-deletion", "--topic words --time earliest"),
    configs("alter", "--entity-type topics --entity-name words --alter --add-config retention.ms=3600000,min.compaction.lag.ms=5"),
    configs("describe", "--entity-type topics --entity-name words --describe"),
    configs("delete", "--entity-type topics --entity-name words --alter --delete-config retention.ms"),
    configs("describe-left", "--entity-type topics --entity-name words --describe"),
    configs("describe-all", "--entity-type topics --entity-name words --describe --all", own=True),
    configs("unknown", "--entity-type topics --entity-name words --alter --add-config no.such.thing=1", refused=True),
    configs("bad-value", "--entity-type topics --entity-name words --alter --add-config retention.ms=soon", refused=True),
    configs("broker", "--entity-type brokers --entity-name 1 --describe"),
    configs("broker-all", "--entity-type brokers --entity-name 1 --describe --all", own=True),
    topics("describe-altered", "--describe --topic words"),
    Command(
        "kafka-producer-perf-test", "producer-perf-test", f"--topic kept --num-records {PERF_RECORDS} --record-size 100 --throughput -1",
        tidy=tidy.last_summary, needed=True,
    ),
    Command("kafka-consumer-perf-test", "consumer-perf-test", f"--topic kept --num-records {PERF_RECORDS}", tidy=tidy.consumed_summary),
    acls("list-none", "--list"),
    acls("add", "--add --allow-principal User:alice --operation Read --topic words"),
    acls("list", "--list --topic words"),
    acls("remove", "--remove --force --allow-principal User:alice --operation Read --topic words"),
    topics("delete", "--delete --topic words"),
    topics("delete-missing", "--delete --topic nowhere", refused=True),
    # Apache Kafka keeps offsets in a topic of its own by now.
    topics("list-left", "--list --exclude-internal", tidy=tidy.in_order),
)  # fmt: skip
