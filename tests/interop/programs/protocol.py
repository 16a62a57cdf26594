"""What the programs have in common: a verb and a JSON document as arguments, JSON lines as the answer.

A failure is the line {"error": "..."} and exit code 1. `consume` ends when standard input does.
"""

import json
import sys
import threading


def emit(**line):
    print(json.dumps(line, ensure_ascii=False))


def flush():
    sys.stdout.flush()


def emit_record(partition, offset, timestamp, key, value, headers):
    headers = [[name, text(content)] for name, content in headers]
    emit(p=partition, o=offset, t=timestamp, k=text(key), v=text(value), h=headers)


def text(content):
    return content.decode() if content is not None else None


def raw(content):
    return content.encode() if content is not None else None


def lines(path):
    """Key, value and headers of each record of a file, as bytes."""
    with open(path) as file:
        for line in file:
            record = json.loads(line)
            yield raw(record["k"]), raw(record["v"]), [(name, raw(value)) for name, value in record["h"]]


def stopped():
    """An event that is set once standard input ends."""
    event = threading.Event()

    def wait():
        while sys.stdin.buffer.raw.read(4096):
            pass
        event.set()

    threading.Thread(target=wait, daemon=True).start()
    return event


def serve(verbs):
    """Runs the verb that the command line names."""
    verb, ask = sys.argv[1], json.loads(sys.argv[2])
    try:
        verbs[verb](ask)
    except Exception as error:  # whatever it is, the driver is told
        emit(error=f"{type(error).__name__}: {error}")
        sys.exit(1)
    finally:
        flush()
