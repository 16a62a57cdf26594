"""The steps that every client goes through, in this order, each with its library's defaults.

A step raises `Different` where what came back is not what had to come; what it returns is told with its "ok".
"""

import functools
import pathlib
import re
import statistics
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from clients import Client
from program import Member, Program
from records import Dataset, Different, distinct, first_at
from servers import PARTITIONS, Tidegate

MEMBERS = 3
STALLED_S = 180  # without a record or a change of the group; the longest session time-out of the clients is 45 s
GROWN = PARTITIONS + 2
POLICY = "tidegate.policy.flush", "flush-threshold"


@dataclass
class Run:
    """One client against one broker; `records` are those of its topic, once they are there."""

    name: str
    client: Client
    program: Program
    broker: object
    folder: pathlib.Path
    count: int
    records: list = field(default_factory=list)

    @property
    def topic(self):
        return f"interop-{self.name}"

    @functools.cached_property
    def dataset(self):
        return Dataset(self.count, self.client.plain_headers)

    @functools.cached_property
    def file(self):
        return self.dataset.write(self.folder / f"{self.name}.jsonl")

    def create(self, topic):
        self.program.run("create", topic=topic, partitions=PARTITIONS)

    def produce(self, topic, codec="none"):
        sent = self.program.one("produce", topic=topic, codec=codec, file=str(self.file))["sent"]
        expect("records sent", sent, self.count)

    def read(self, topic, group, most):
        return self.program.records(topic=topic, group=group, max=most)

    def written(self):
        if not self.records:
            raise Different("the records that this step needs are not there")
        return self.records


def expect(what, found, expected):
    if found != expected:
        raise Different(f"{what}: {found}, expected {expected}")


def create(run):
    run.create(run.topic)
    expect("first offsets", run.program.offsets(run.topic, -2), dict.fromkeys(range(PARTITIONS), 0))


def produce(run):
    run.produce(run.topic)
    records = run.read(run.topic, f"{run.topic}-reader", run.count)
    run.dataset.check(records)
    run.records = records
    ends = Counter(record.partition for record in records)
    expect("last offsets", run.program.offsets(run.topic, -1), {partition: ends[partition] for partition in range(PARTITIONS)})
    return f"{run.count} records, {len(ends)} partitions"


def produce_compressed(codec, run):
    topic = f"{run.topic}-{codec}"
    run.create(topic)
    run.produce(topic, codec)
    run.dataset.check(run.read(topic, f"{topic}-reader", run.count))
    return f"{run.count} records"


def group(run):
    """Three members read what is being produced; one is killed half-way."""
    topic = f"{run.topic}-group"
    run.create(topic)
    members = [Member(run.program, topic=topic, group=topic) for _ in range(MEMBERS)]
    try:
        until(lambda: shared_out(run, topic, members), lambda: 0, "the members do not share out the partitions")
        again = read_with_a_kill(run, topic, members)
        until(lambda: shared_out(run, topic, members[1:]), lambda: 0, "the members left do not share out the partitions")
        for member in members[1:]:
            member.stop()
        if "describe-group" not in run.client.lacks:
            expect("the group at its end", describe(run, topic), ("empty", []))
        return f"{run.count} records, {again} of them twice because of the kill"
    finally:
        for member in members:
            member.abandon()


def read_with_a_kill(run, topic, members):
    """Returns how many deliveries were repeated."""
    failures = []

    def send():
        try:
            run.produce(topic)
        except Different as error:
            failures.append(error)

    def delivered():
        if failures:
            raise failures[0]
        if dead := [member for member in members[1:] if not member.running()]:
            raise Different(f"a member ended by itself: {dead[0].other} {dead[0].said.text()}")
        return len({record.place for member in members for record in member.records})

    producing = threading.Thread(target=send)
    producing.start()
    until(lambda: delivered() >= run.count // 2, delivered, "the group does not get half of the records")
    members[0].kill()
    until(lambda: delivered() >= run.count, delivered, f"the members left do not get the rest of {run.count} records")
    producing.join()
    deliveries = [record for member in members for record in member.records]
    records = distinct(deliveries)
    run.dataset.check(records)
    return len(deliveries) - len(records)


def until(done, progress, failure):
    """Waits, as long as `progress` changes."""
    last, since = None, time.monotonic()
    while not done():
        now = progress()
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > STALLED_S:
            raise Different(f"{failure}: stuck at {now}")
        time.sleep(0.5)


def describe(run, group):
    """State of a group, and the partitions of each of its members."""
    answer = run.program.one("describe-group", group=group)
    return answer["state"].lower(), sorted(answer["members"])


def described_or_not_yet(run, group):
    try:
        return describe(run, group)
    except Different as error:
        if re.search("group.?id.?not.?found", str(error), re.IGNORECASE):
            return "not yet", []
        raise


def shared_out(run, group, members):
    """Whether these members have all partitions between them, each some."""
    if "describe-group" in run.client.lacks:
        state, shares = "stable", [member.assigned for member in members]
    else:
        state, shares = described_or_not_yet(run, group)
    all_of_them = sorted(partition for share in shares for partition in share)
    return state == "stable" and len(shares) == len(members) and all(shares) and all_of_them == list(range(PARTITIONS))


def resume(run):
    """A consumer that commits half-way is followed by one that goes on from there."""
    run.written()
    group, half = f"{run.topic}-resume", run.count // 2
    first = run.read(run.topic, group, half)
    second = run.read(run.topic, group, run.count - half)
    expect("records before the commit", len(first), half)
    run.dataset.check(first + second)
    if "committed" not in run.client.lacks:
        found = {line["p"]: line["o"] for line in run.program.run("committed", group=group) if line["o"] >= 0}
        ends = Counter(record.partition for record in run.records)
        expect("committed offsets", found, dict(ends))


def offsets_by_time(run):
    timestamp = int(statistics.median(record.timestamp for record in run.written()))
    expected = {partition: first_at(run.records, partition, timestamp) for partition in range(PARTITIONS)}
    found = run.program.offsets(run.topic, timestamp)
    here = {partition: offset for partition, offset in expected.items() if offset is not None}
    expect(f"offsets at {timestamp}", {partition: found.get(partition) for partition in here}, here)
    return f"{len(here)} partitions"


def delete_records(run):
    ends = Counter(record.partition for record in run.written())
    before = {partition: end // 2 for partition, end in sorted(ends.items())[:3]}
    lows = {line["p"]: line["o"] for line in run.program.run("delete-records", topic=run.topic, before=before)}
    expect("low watermarks", lows, before)
    starts = {partition: before.get(partition, 0) for partition in range(PARTITIONS)}
    expect("first offsets", run.program.offsets(run.topic, -2), starts)
    left = {record for record in run.records if record.offset >= starts[record.partition]}
    found = run.read(run.topic, f"{run.topic}-left", len(left))
    expect("records left that are not as they were", len(left.symmetric_difference(found)), 0)
    return f"{len(run.records) - len(left)} of {len(run.records)} records"


def config(run):
    name, value = "retention.ms", "86400000"
    run.program.run("set-config", topic=run.topic, name=name, value=value)
    expect(name, run.program.one("get-config", topic=run.topic, name=name)["value"], value)


def policy(run):
    """A policy is bound by the config of a topic, and the broker's own API shows it."""
    if not isinstance(run.broker, Tidegate):
        return "another broker: it has none"
    name, value = POLICY
    run.program.run("set-config", topic=run.topic, name=name, value=value)
    expect(name, run.program.one("get-config", topic=run.topic, name=name)["value"], value)
    bound = [each for each in run.broker.ask("/v1/policies")["bindings"] if each["pattern"] == run.topic]
    expect("policies bound", [(each["kind"], each["plugin"]) for each in bound], [("flush", value)])
    return value


def grow(run):
    run.program.run("grow", topic=run.topic, partitions=GROWN)
    expect("partitions", sorted(run.program.offsets(run.topic, -2)), list(range(GROWN)))


def delete(run):
    """A topic that is deleted and created again is another one: it starts from 0."""
    run.program.run("delete", topic=run.topic)
    until(lambda: recreated(run), lambda: 0, "the topic cannot be created again")
    expect("last offsets", run.program.offsets(run.topic, -1), dict.fromkeys(range(PARTITIONS), 0))


def recreated(run):
    try:
        run.create(run.topic)
    except Different as error:  # a broker may take its time to delete
        if "exists" in str(error).lower():
            return False
        raise
    return True


@dataclass(frozen=True)
class Step:
    name: str
    needs: tuple  # verbs beyond produce, consume and offsets
    run: object


def steps_of(client):
    """The steps of a client; those that its library has no means for are told apart by what they need."""
    compressed = [Step(f"produce-{codec}", (), functools.partial(produce_compressed, codec)) for codec in client.codecs if codec != "none"]
    return [
        Step("create", (), create),
        Step("produce", (), produce),
        *compressed,
        Step("group", (), group),
        Step("resume", (), resume),
        Step("offsets-by-time", (), offsets_by_time),
        Step("delete-records", ("delete-records",), delete_records),
        Step("config", ("set-config",), config),
        Step("policy", ("set-config",), policy),
        Step("grow", ("grow",), grow),
        Step("delete", ("delete",), delete),
    ]
