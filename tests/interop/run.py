#!/usr/bin/env python3
"""Runs Kafka clients, with their defaults, against a broker on SeaweedFS: one line for each client and step.

Without a name: all clients, then Apache Kafka's tools, then a crash under an idempotent producer. scripts/interop.sh installs what
this needs and sets the paths. Exits with 1 if anything is not as it has to be.
"""

import argparse
import os
import pathlib
import signal
import sys
import tempfile
import time

import crash
import tools
from clients import CLIENTS
from records import Different
from report import ABSENT, FAILED, OK, Report
from servers import ApacheKafka, SeaweedFs, ServerError, Tidegate
from steps import Run, steps_of

RECORDS = 100_000


def timed(report, part, step, work):
    """Does a step, and tells how it went."""
    started = time.monotonic()
    try:
        detail, outcome = work() or "", OK
    except (Different, ServerError) as error:
        detail, outcome = str(error), FAILED
    report.step(part, step, outcome, detail, time.monotonic() - started)


def run_client(name, broker, args, folder, report):
    client = CLIENTS[name]
    program = client.program(args.clients, args.kafka, broker.address)
    report.title(f"{name}: {program.one('version')['version']}")
    run = Run(name, client, program, broker, folder, args.records)
    for step in steps_of(client):
        if args.steps and step.name not in args.steps:
            continue
        if missing := [verb for verb in step.needs if verb in client.lacks]:
            report.step(name, step.name, ABSENT, f"the client has no {missing[0]}")
        else:
            timed(report, name, step.name, lambda step=step: step.run(run))


def tidegate(args, folder, store, name="tidegate", **more):
    return Tidegate(folder / name, args.bin, args.plugins, store, **more)


def run_clients(names, args, folder, report):
    with SeaweedFs(folder / "seaweedfs", args.weed) as s3:
        server = ApacheKafka(folder / "kafka", args.kafka) if args.against == "kafka" else tidegate(args, folder, s3.store("clients"))
        with server as broker:
            for name in names:
                run_client(name, broker, args, folder, report)


def run_tools(args, folder, report):
    with SeaweedFs(folder / "seaweedfs-tools", args.weed) as s3, ApacheKafka(folder / "kafka-tools", args.kafka) as kafka:
        # A policy that is bound shows as a config of its topics, which those of Apache Kafka do not have. Whoever connects may do everything.
        settings = {"policies": {}, "security": {"acls": True, "super_users": ["User:ANONYMOUS"]}}
        with tidegate(args, folder, s3.store("tools"), "tidegate-tools", **settings) as broker:
            tools.compare(args.kafka, kafka.address, broker.address, args.steps, folder, report)


def run_crash(args, folder, report):
    with SeaweedFs(folder / "seaweedfs-crash", args.weed) as s3, tidegate(args, folder, s3.store("crash"), "tidegate-crash") as broker:
        program = CLIENTS["java"].program(args.clients, args.kafka, broker.address)
        report.title(f"crash: {program.one('version')['version']}")
        crash.idempotent_produce(program, broker, args.crash_records, folder, report)


def parse(argv):
    parts = [*CLIENTS, "tools", "crash"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"what to run: {', '.join(parts)} (all)")
    parser.add_argument("--records", type=int, default=RECORDS, help=f"of each topic ({RECORDS})")
    parser.add_argument("--crash-records", type=int, default=crash.RECORDS, help=f"of the crash ({crash.RECORDS})")
    parser.add_argument("--steps", type=lambda text: text.split(","), help="only these, between commas")
    parser.add_argument("--against", choices=["tidegate", "kafka"], default="tidegate", help="kafka tells whether it is broker or client")
    parser.add_argument("--json", action="store_true", help="one JSON line for each step")
    parser.add_argument("--list", action="store_true", help="name what can be run, and end")
    for name, what in PATHS.items():
        parser.add_argument(f"--{name}", default=os.environ.get(f"TIDEGATE_{name.upper()}"), help=f"{what} (TIDEGATE_{name.upper()})")
    args = parser.parse_args(argv)
    if unknown := set(args.parts) - set(parts):
        parser.error(f"no {', '.join(unknown)}; there are {', '.join(parts)}")
    args.parts = args.parts or parts
    return args


PATHS = {
    "bin": "the broker's binary",
    "plugins": "folder of the bundled policies",
    "weed": "SeaweedFS's binary",
    "clients": "folder of installed clients",
    "kafka": "folder of Apache Kafka's jars",
}


def main(argv):
    args = parse(argv)
    if args.list:
        for name in args.parts:
            print(name, *(step.name for step in steps_of(CLIENTS[name])) if name in CLIENTS else "")
        return 0
    if missing := [name for name in PATHS if not getattr(args, name)]:
        sys.exit(f"error: no path for {', '.join(missing)}: run scripts/interop.sh, which sets them")
    report = Report(args.json)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # servers end with the run, however it ends
    with tempfile.TemporaryDirectory(prefix="tidegate-interop-") as folder:
        folder = pathlib.Path(folder)
        if clients := [name for name in args.parts if name in CLIENTS]:
            run_clients(clients, args, folder, report)
        if "tools" in args.parts:
            run_tools(args, folder, report)
        if "crash" in args.parts:
            run_crash(args, folder, report)
    report.title(f"{report.done} steps, {report.failed} failed")
    return 1 if report.failed or not report.done else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
