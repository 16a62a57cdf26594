"""Makes what a tool printed comparable: ids, times, rates and addresses become words; order that means nothing is sorted."""

import json
import re

COMMON = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[:,.]\d{3}\b"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    # Of an error its class counts; each broker has its own words.
    (re.compile(r"(\bError while executing [a-z ]+ command ?: ).*"), r"\1WORDS"),
    (re.compile(r"(\w+Exception: )(?!.*Exception: ).*"), r"\1WORDS"),
    (re.compile(r"(TopicId: )[A-Za-z0-9_-]{22}(?![\w-])"), r"\1ID"),
)
NUMBER = re.compile(r"-?\b\d+(\.\d+)?\b")
ERROR = re.compile(r"\b(ERROR|WARN|FATAL)\b|Exception\b|^Error")


def common(lines, bootstrap):
    """For all tools."""
    return [once(line.rstrip().replace(bootstrap, "BROKER")) for line in lines if line.strip()]


def once(line):
    for pattern, word in COMMON:
        line = pattern.sub(word, line)
    return line


def is_error(line):
    return bool(ERROR.search(line))


def as_is(lines):
    return lines


def in_order(lines):
    return sorted(lines)


def without_numbers(lines):
    """Rates, times and sizes."""
    return [NUMBER.sub("N", line) for line in lines]


def last_summary(lines):
    """Of a perf test: progress comes every few seconds, the summary once; only its record count is no measurement."""
    summary = lines[-1:]
    return [re.match(r"\d+", line)[0] + NUMBER.sub("N", line[len(re.match(r"\d+", line)[0]) :]) for line in summary if line[:1].isdigit()] or lines


def consumed_summary(lines):
    """Of the consumer's perf test: a header, and times and rates around the bytes and records that were read."""
    *rest, row = lines
    fields = row.split(", ")
    if len(fields) < 6:
        return lines
    return [*rest, ", ".join(field if place in (2, 4) else "N" for place, field in enumerate(fields))]


def sent_lines(lines):
    """Of the verifiable producer: one line for each record, in the order of the acks."""
    return sorted(stripped(line, "timestamp", "avg_throughput") for line in lines)


def consumed_lines(lines):
    """Of the verifiable consumer: how records are shared out among polls and commits is chance; where they begin and end is not."""
    events, first, last, ends, count = [], {}, {}, {}, 0
    for line in lines:
        event = parsed(line)
        if event is None:
            events.append(line)
        elif event["name"] == "records_consumed":
            count += event["count"]
            for partition in event["partitions"]:
                number = partition["partition"]
                first[number] = min(first.get(number, partition["minOffset"]), partition["minOffset"])
                last[number] = max(last.get(number, partition["maxOffset"]), partition["maxOffset"])
        elif event["name"] == "offsets_committed":
            ends.update({each["partition"]: each["offset"] for each in event["offsets"]})
        else:
            events.append(stripped(line, "timestamp"))
    told = {"count": count, "first": first, "last": last, "committed": ends}
    return [*events, json.dumps(told, sort_keys=True)]


def parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def stripped(line, *fields):
    event = parsed(line)
    if event is None:
        return line
    return json.dumps({name: value for name, value in event.items() if name not in fields}, sort_keys=True)


def log_dirs(lines):
    """Of kafka-log-dirs: JSON in which sizes and the directory are the broker's own affair."""
    found = []
    for line in lines:
        answer = parsed(line)
        if answer is None:
            found.append(line)
            continue
        for broker in answer["brokers"]:
            for directory in broker["logDirs"]:
                directory["logDir"] = "DIRECTORY"
                directory["partitions"].sort(key=lambda partition: partition["partition"])
                for partition in directory["partitions"]:
                    partition["size"] = "some" if partition["size"] > 0 else "none"
        found.append(json.dumps(answer, sort_keys=True))
    return found
