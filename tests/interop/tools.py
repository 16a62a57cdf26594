"""Apache Kafka's own tools against Apache Kafka and against Tidegate: both print the same, up to ids, times and rates.

Each command runs against both brokers, in the order of the table in `scenario.py`, so that both are in the same state before each.
"""

import concurrent.futures
import difflib
import os
import subprocess
import time

import tidy
from report import FAILED, OK
from scenario import COMMANDS
from servers import LOG4J

PATIENCE_S = 180
SHOWN_LINES = 12


class Tools:
    """The tools of one installation of Apache Kafka."""

    def __init__(self, libs, folder):
        self.libs, self.folder = libs, folder

    def run(self, command, bootstrap):
        """Exit code, and what it printed to both outputs, made comparable."""
        places = {"{bootstrap}": bootstrap, "{folder}": str(self.folder)}
        arguments = [replaced(argument, places) for argument in command.arguments]
        java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={LOG4J}", "-cp", f"{self.libs}/*", command.main]
        try:
            done = subprocess.run(
                [*java, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL, env=os.environ
            )
        except subprocess.TimeoutExpired:
            return None, [f"it did not end within {PATIENCE_S} s"]
        lines = (done.stdout + done.stderr).splitlines()
        return done.returncode, command.tidy(tidy.common(lines, bootstrap))


def replaced(text, places):
    for place, value in places.items():
        text = text.replace(place, value)
    return text


def compare(libs, kafka, tidegate, chosen, folder, report):
    """Runs all commands, or those of the tools or names in `chosen`."""
    tools = Tools(libs, folder)
    report.title("Apache Kafka's tools, against Apache Kafka and Tidegate")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for command in COMMANDS:
            if chosen and not command.needed and command.tool not in chosen and command.name not in chosen:
                continue
            started = time.monotonic()
            command.prepare(folder)
            expected, found = pool.map(lambda broker, command=command: tools.run(command, broker), (kafka, tidegate))
            detail = difference(command, expected, found)
            report.step("tools", command.name, FAILED if detail else OK, detail, time.monotonic() - started)


def difference(command, expected, found):
    """What differs, or nothing."""
    said = []
    if found[0] != expected[0]:
        said.append(f"exit code {found[0]}, Apache Kafka's is {expected[0]}")
    if not command.refused and (errors := [line for line in found[1] if tidy.is_error(line)]):
        said.append("it prints errors: " + " / ".join(errors[:3]))
    if not command.own and found[1] != expected[1]:
        lines = list(difflib.unified_diff(expected[1], found[1], "Apache Kafka", "Tidegate", lineterm="", n=0))[2:]
        said.append("\n    " + "\n    ".join(line for line in lines[:SHOWN_LINES] if not line.startswith("@@")))
    return "; ".join(said)
