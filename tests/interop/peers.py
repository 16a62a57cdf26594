#!/usr/bin/env python3
"""Tidegate beside other brokers: the loads of a folder's compare.py, as JSON lines like those of the other benchmarks.

The folder has `broker.sh NAME start|stop|status [--store S]`, `s3.sh start|stop|status`, which print NAME=HOST:PORT,PID[,STORE_PID], and
`compare.py [OPTIONS] --out FILE NAME=HOST:PORT,PID[,STORE_PID]...`, which takes these and writes one JSON line for each load:
"round", "case", "broker", and under "produce" and "consume" what was measured, or "error". What ran before goes on running.
Options after the folder go to compare.py: --scale 0.1, --rounds 1, --warmup-s 0, --case NAME.
"""

import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

from servers import SeaweedFs, Tidegate

PEERS = (("kafka", "local"), ("tansu", "memory"), ("tansu", "s3"))
UNITS = {
    "records_per_s": "records/s",
    "p50_ms": "ms",
    "p99_ms": "ms",
    "broker_cpu_s_per_gb": "s/GB",
    "store_cpu_s_per_gb": "s/GB",
    "broker_peak_rss_mb": "MB",
    "other_cpu_share": "share",
}
OURS = "tidegate-"


def told(folder, *command):
    """What a command of the folder printed: where a broker listens, and its processes."""
    done = subprocess.run([folder / command[0], *command[1:]], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} of {folder} failed")
    return done.stdout.strip()


@contextlib.contextmanager
def running(folder, script, *options):
    """A server of the folder; one that ran before is left running."""
    name, store = options[:1], options[1:]
    before = subprocess.run([folder / script, *name, "status", *store], capture_output=True)
    where = told(folder, script, *name, "start", *store)
    try:
        yield where
    finally:
        if before.returncode:
            told(folder, script, *name, "stop", *store)


def ours(stack, folder):
    """Tidegate on a local directory and on an S3 server of its own."""
    binary, plugins = os.environ["TIDEGATE_BIN"], os.environ["TIDEGATE_PLUGINS"]
    s3 = stack.enter_context(SeaweedFs(folder / "seaweedfs", os.environ["TIDEGATE_WEED"]))
    stores = {"local": {"kind": "local", "path": str(folder / "objects")}, "s3": s3.store("peers")}
    for name, store in stores.items():
        broker = stack.enter_context(Tidegate(folder / name, binary, plugins, store))
        suffix = f",{s3.child.pid}" if name == "s3" else ""
        yield f"{OURS}{name}={broker.address},{broker.child.pid}{suffix}"


def theirs(stack, peers):
    stack.enter_context(running(peers, "s3.sh"))
    for name, store in PEERS:
        yield stack.enter_context(running(peers, "broker.sh", name, "--store", store))


def measured(runs):
    """What each run measured, as (case and figure, broker, round, value)."""
    for run in runs:
        for phase in ("produce", "consume"):
            for figure in UNITS.keys() & run.get(phase, {}).keys():
                yield f"{run['case'].split()[0]}/{phase}/{figure}", run["broker"], run["round"], run[phase][figure]


def lines(runs):
    """Ratios are medians of the ratios within one round; values are medians."""
    table = {}
    for name, broker, turn, value in measured(runs):
        table.setdefault(name, {}).setdefault(broker, {})[turn] = value
    for name, brokers in sorted(table.items()):
        unit = UNITS[name.rsplit("/", 1)[1]]
        for broker, values in sorted(brokers.items()):
            line = {"case": "peers", "name": f"{name}/{broker}", "value": statistics.median(values.values()), "unit": unit}
            others = {other: theirs for other, theirs in brokers.items() if not other.startswith(OURS)} if broker.startswith(OURS) else {}
            compared = [compare(line, values, other, theirs) for other, theirs in sorted(others.items())]
            yield from filter(None, compared) if any(compared) else [line]


def compare(line, values, other, theirs):
    ratios = [value / theirs[turn] for turn, value in values.items() if theirs.get(turn)]
    if not ratios:
        return None
    baseline, ratio = statistics.median(theirs.values()), statistics.median(ratios)
    return {**line, "baseline": baseline, "against": other, "ratio": round(ratio, 3)}


def main(argv):
    if not argv or not (peers := pathlib.Path(argv[0]).resolve()).joinpath("compare.py").is_file():
        sys.exit("error: name a folder with compare.py, broker.sh and s3.sh: make bench CASE=peers PEERS=folder")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # servers end with the run, however it ends
    with tempfile.TemporaryDirectory(prefix="tidegate-peers-") as folder, contextlib.ExitStack() as stack:
        folder = pathlib.Path(folder)
        brokers = [*theirs(stack, peers), *ours(stack, folder)]
        done = subprocess.run([peers / "compare.py", "--out", folder / "runs.jsonl", *argv[1:], *brokers], stdout=sys.stderr)
        runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    for line in lines(runs):
        print(json.dumps(line))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
