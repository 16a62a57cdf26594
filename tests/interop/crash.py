"""The broker is killed again and again under an idempotent producer, which ends by itself with every record stored once."""

import signal
import threading
import time
import urllib.request

from records import Dataset, Different
from report import FAILED, OK
from servers import PARTITIONS
from steps import expect

RECORDS = 1_000_000
KILLED_AT = (0.25, 0.5, 0.75)  # of the records committed
TOPIC = "interop-crash"
STALLED_S = 300
AGAIN = "tidegate_lane_duplicates_total"


def idempotent_produce(program, broker, count, folder, report):
    """Prints one line with the figures."""
    started, figures = time.monotonic(), {}
    try:
        produce_and_kill(program, broker, count, folder, figures)
        outcome, detail = OK, "every record once"
    except Different as error:
        outcome, detail = FAILED, str(error)
    report.step("crash", "kill-9", outcome, detail, time.monotonic() - started, **figures)


def produce_and_kill(program, broker, count, folder, figures):
    dataset = Dataset(count)
    file = dataset.write(folder / "crash.jsonl")
    program.run("create", topic=TOPIC, partitions=PARTITIONS)
    producing = Producing(program, topic=TOPIC, codec="none", file=str(file))
    figures.update(records=count, kills=0, away_ms=[], sent_again=0)
    for share in KILLED_AT:
        progress(broker, producing, int(count * share), count)
        figures["sent_again"] += sent_again(broker)
        killed = time.monotonic()
        broker.end(signal.SIGKILL)
        broker.start()
        figures["kills"] += 1
        figures["away_ms"].append(round((time.monotonic() - killed) * 1000))
    expect("records acknowledged", producing.wait(), count)
    figures["sent_again"] += sent_again(broker)
    figures["stored"] = sum(program.offsets(TOPIC, -1).values())
    records = program.records(topic=TOPIC, group=f"{TOPIC}-reader", max=figures["stored"])
    figures["distinct"] = len({record.number for record in records})
    dataset.check(records)
    expect("records stored", figures["stored"], count)


class Producing:
    """A producer at work beside this thread."""

    def __init__(self, program, **ask):
        self.answer = self.failure = None
        self.thread = threading.Thread(target=self._run, args=(program, ask), daemon=True)
        self.thread.start()

    def _run(self, program, ask):
        try:
            self.answer = program.one("produce", **ask)
        except Different as error:
            self.failure = error

    def running(self):
        return self.thread.is_alive()

    def wait(self):
        self.thread.join()
        if self.failure:
            raise self.failure
        return self.answer["sent"]


def committed(broker):
    partitions = broker.ask(f"/v1/topics/{TOPIC}")["open_partitions"]
    return sum(partition["high_watermark"] for partition in partitions)


def progress(broker, producing, records, count):
    """Waits until so many records are committed, and not all: then there is something left to break."""
    deadline = time.monotonic() + STALLED_S
    while (found := committed(broker)) < records:
        if not producing.running():
            raise Different(f"the producer ended at {found} records, before the broker could be killed at {records}: {producing.failure}")
        if time.monotonic() > deadline:
            raise Different(f"the producer never gets to {records} records; {found} are committed")
        time.sleep(0.05)
    if found >= count:
        raise Different(f"all records were committed before the broker could be killed at {records}")


def sent_again(broker):
    """Batches that came again and were not stored again, since the broker's start."""
    with urllib.request.urlopen(broker.admin + "/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(float(line.rsplit(" ", 1)[1])) for line in lines if line.startswith(AGAIN))
