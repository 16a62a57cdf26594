"""kcat, with its defaults: told what to do by its arguments, its answers turned into the programs' lines.

It creates a topic by asking for it. It sets the same headers on all records of a run.
"""

import json
import re
import signal
import subprocess
import tempfile
import threading

from protocol import emit, emit_record, flush, lines, raw, serve, stopped


def run(ask, *options):
    """What a run that must not fail printed; kcat ends with 0 even where records fail, but says so."""
    done = subprocess.run(["kcat", "-b", ask["bootstrap"], *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode or "ERROR" in done.stderr or "failed" in done.stderr:
        raise RuntimeError(f"kcat {' '.join(options)}: {done.stderr.strip()}")
    return done.stdout


def version(_):
    banner = subprocess.run(["kcat", "-V"], capture_output=True, text=True).stdout
    kcat, librdkafka = re.search(r"Version (\S+) .*librdkafka (\S+)", banner).groups()
    emit(version=f"kcat {kcat}, librdkafka {librdkafka}")


def create(ask):
    partitions(ask)


def partitions(ask):
    (topic,) = json.loads(run(ask, "-L", "-J", "-t", ask["topic"]))["topics"]
    return [partition["partition"] for partition in topic["partitions"]]


def produce(ask):
    sent, headers = 0, []
    with tempfile.NamedTemporaryFile() as file:
        for key, value, headers in lines(ask["file"]):
            file.write((key or b"") + b"\t" + (value or b"") + b"\n")
            sent += 1
        file.flush()
        codec = [] if ask["codec"] == "none" else ["-z", ask["codec"]]
        options = [option for name, value in headers for option in ("-H", f"{name}={value.decode()}")]
        # -Z: what is empty is null.
        run(ask, "-q", "-P", "-t", ask["topic"], "-K", "\t", "-Z", *codec, *options, "-l", file.name)
    emit(sent=sent)


def consume(ask):
    most = ["-c", str(ask["max"])] if ask.get("max") else []
    command = ["kcat", "-b", ask["bootstrap"], "-X", "auto.offset.reset=earliest", "-J", "-u", *most, "-G", ask["group"], ask["topic"]]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    emit(pid=child.pid)
    flush()
    threading.Thread(target=lambda: stopped().wait() and child.send_signal(signal.SIGTERM), daemon=True).start()
    said = threading.Thread(target=watch, args=(child.stderr,))
    said.start()
    for line in child.stdout:
        record = json.loads(line)
        names, values = record.get("headers", [])[::2], record.get("headers", [])[1::2]
        headers = [(name, raw(value)) for name, value in zip(names, values)]
        emit_record(record["partition"], record["offset"], record["ts"], raw(record["key"]), raw(record["payload"]), headers)
        flush()
    said.join()
    if child.wait() not in (0, -signal.SIGKILL):
        raise RuntimeError(f"kcat ended with {child.returncode}")


def watch(errors):
    """Tells of assignments, which kcat has on standard error."""
    for line in errors:
        found = re.search(r"assigned: (.*)", line)
        if found:
            emit(assigned=[int(partition) for partition in re.findall(r"\[(\d+)\]", found[1])])
            flush()


def offsets(ask):
    asked = [option for partition in partitions(ask) for option in ("-t", f"{ask['topic']}:{partition}:{ask['at']}")]
    for partition, offset in re.findall(r"\[(\d+)\] offset (-?\d+)", run(ask, "-Q", *asked)):
        emit(p=int(partition), o=int(offset))


serve({"version": version, "create": create, "produce": produce, "consume": consume, "offsets": offsets})
