"""What is written, and what must come back: the same records, each once, in the order of their keys.

Record `n` is a function of `n`, so nothing needs to be remembered. Some have no key, some no value, some text beyond ASCII, some an
empty header. Every record names its `n` in its value, or in its key where it has no value.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field

KEYS = 1009
KEYLESS, TOMBSTONE, BEYOND_ASCII, EMPTY_HEADER = 997, 1000, 89, 83
SHOWN = 3  # examples of each kind of difference


class Different(Exception):
    """What came back is not what was to come; the message says what differs."""


@dataclass(frozen=True)
class Record:
    partition: int
    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: tuple

    @classmethod
    def of(cls, line):
        """Of a line that a program printed."""
        headers = tuple((name, value) for name, value in line["h"])
        return cls(line["p"], line["o"], line["t"], line["k"], line["v"], headers)

    @property
    def place(self):
        return self.partition, self.offset

    @property
    def content(self):
        return self.key, self.value, self.headers

    @property
    def number(self):
        text = self.value or self.key
        found = re.match(r"(?:gone-)?(\d{7})", text or "")
        return int(found[1]) if found else None


@dataclass(frozen=True)
class Dataset:
    """`count` records; with `plain_headers` all have the same headers, for programs that cannot set them one by one."""

    count: int
    plain_headers: bool = False

    def content(self, n):
        """Key, value and headers of record `n`."""
        letters = "é✓" if n % BEYOND_ASCII == 0 else "xy"
        value = f"{n:07} " + letters * (n % 61)
        key = f"key-{n % KEYS}"
        if n % TOMBSTONE == 0:
            key, value = f"gone-{n:07}", None
        elif n % KEYLESS == 0:
            key = None
        if self.plain_headers:
            return key, value, (("source", "interop"),)
        return key, value, (("n", str(n)), ("source", "" if n % EMPTY_HEADER == 0 else "interop"))

    def write(self, path):
        """One JSON line for each record, for programs to send in this order."""
        with path.open("w") as out:
            for n in range(self.count):
                key, value, headers = self.content(n)
                out.write(json.dumps({"k": key, "v": value, "h": headers}, ensure_ascii=False) + "\n")
        return path

    def check(self, records):
        """Raises `Different` unless `records`, of a whole topic, are these: each once, without gaps, in order for each key."""
        found = Findings()
        by_place = sorted(records, key=lambda record: record.place)
        self._check_contents(by_place, found)
        check_places(by_place, found)
        check_order(by_place, found)
        found.raise_any()

    def _check_contents(self, records, found):
        copies = Counter(record.number for record in records)
        for n in range(self.count):
            if copies[n] == 0:
                found.add("missing", n)
            elif copies[n] > 1:
                found.add("written more than once", n)
        for record in records:
            n = record.number
            if n is None or n >= self.count:
                found.add("never written", record)
            elif record.content != self.content(n):
                found.add("changed", f"{record.content} instead of {self.content(n)}")


@dataclass
class Findings:
    """Differences by kind, with the first few of each."""

    kinds: dict = field(default_factory=dict)

    def add(self, kind, example):
        count, examples = self.kinds.get(kind, (0, []))
        self.kinds[kind] = count + 1, examples if count >= SHOWN else [*examples, example]

    def raise_any(self):
        if self.kinds:
            told = (f"{count} {kind} ({', '.join(map(str, examples))})" for kind, (count, examples) in self.kinds.items())
            raise Different("; ".join(told))


def check_places(by_place, found):
    """Offsets of a partition have no gap and come once."""
    last = {}
    for record in by_place:
        expected = last.get(record.partition, record.offset - 1) + 1
        if record.offset != expected:
            found.add("out of place", f"offset {record.offset} of partition {record.partition} where {expected} was expected")
        last[record.partition] = record.offset


def check_order(by_place, found):
    """Records of a key lie in one partition, in the order in which they were sent."""
    last = {}
    for record in by_place:
        if record.key is None or record.number is None:
            continue
        partition, number = last.get(record.key, (record.partition, -1))
        if record.partition != partition:
            found.add("in another partition than others of their key", record.number)
        elif record.number <= number:
            found.add("out of order", f"{record.number} of {record.key} comes after {number}")
        last[record.key] = record.partition, record.number


def distinct(deliveries):
    """The records behind deliveries of which some came again; the same place must always hold the same record."""
    by_place = {}
    for record in deliveries:
        if by_place.setdefault(record.place, record) != record:
            raise Different(f"{record.place} was read as {by_place[record.place]} and as {record}")
    return list(by_place.values())


def first_at(records, partition, timestamp):
    """Offset of the first record of a partition that is not older than `timestamp`, or None."""
    later = (record.offset for record in records if record.partition == partition and record.timestamp >= timestamp)
    return min(later, default=None)
