"""A client program: runs one verb, gives its JSON lines; or runs as a member of a group that can be stopped and killed."""

import json
import os
import signal
import subprocess
import threading

from records import Different, Record

PATIENCE_S = 600  # until a verb is given up: no measure of anything


class Program:
    """One client library behind the verbs that all programs share."""

    def __init__(self, command, env, bootstrap):
        self.command, self.bootstrap = command, bootstrap
        self.env = {**os.environ, **env}

    def arguments(self, verb, ask):
        return [*self.command, verb, json.dumps({"bootstrap": self.bootstrap, **ask})]

    def spawn(self, verb, ask, stdin):
        return subprocess.Popen(
            self.arguments(verb, ask), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env, start_new_session=True
        )

    def run(self, verb, **ask):
        """Its lines; `Different` if it fails or does not end."""
        child = self.spawn(verb, ask, subprocess.PIPE)
        try:
            # Standard input stays open: a consumer that reaches its own end must not be told to stop.
            limit = threading.Timer(PATIENCE_S, kill_all, [child])
            limit.start()
            said = Tail(child.stderr)
            lines = [json.loads(line) for line in child.stdout]
            code = child.wait()
        finally:
            limit.cancel()
            child.stdin.close()
        check_end(verb, code, lines, said)
        return lines

    def one(self, verb, **ask):
        """The only line of its answer."""
        lines = self.run(verb, **ask)
        if len(lines) != 1:
            raise Different(f"{verb} answered {len(lines)} lines: {lines[:3]}")
        return lines[0]

    def records(self, **ask):
        return [Record.of(line) for line in self.run("consume", **ask) if "o" in line]

    def offsets(self, topic, at):
        """Offsets by partition."""
        return {line["p"]: line["o"] for line in self.run("offsets", topic=topic, at=at)}


class Member:
    """A consumer that is one of a group, with all that it was given so far."""

    def __init__(self, program, **ask):
        self.child = program.spawn("consume", ask, subprocess.PIPE)
        self.pid, self.assigned, self.records, self.other = self.child.pid, [], [], []
        self.said = Tail(self.child.stderr)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.child.stdout:
            try:
                line = json.loads(line)
            except ValueError:
                continue  # cut off by a kill
            if "o" in line:
                self.records.append(Record.of(line))
            elif "pid" in line:
                self.pid = line["pid"]
            elif "assigned" in line:
                self.assigned = line["assigned"]
            else:
                self.other.append(line)

    def running(self):
        return self.child.poll() is None

    def kill(self):
        """Kills the client itself; what it had printed is read to its end."""
        os.kill(self.pid, signal.SIGKILL)
        self.child.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)

    def stop(self):
        """Lets it commit and leave its group."""
        self.child.stdin.close()
        try:
            code = self.child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Different("a member of the group does not stop") from None
        self.reader.join(PATIENCE_S)
        check_end("consume", code, self.other, self.said)

    def abandon(self):
        kill_all(self.child)


def kill_all(child):
    """A process and those that it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended by itself


def check_end(verb, code, lines, said):
    errors = [line["error"] for line in lines if "error" in line]
    if errors:
        raise Different(f"{verb}: {errors[0]}")
    if code:
        raise Different(f"{verb} ended with {code}: {said.text()}")


class Tail:
    """Reads a stream to its end, and keeps its last lines."""

    def __init__(self, stream, lines=20):
        self.lines, self.most = [], lines
        self.reader = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self.reader.start()

    def _read(self, stream):
        for line in stream:
            self.lines = [*self.lines[1 - self.most :], line.decode(errors="replace").rstrip()]

    def text(self):
        self.reader.join(5)
        return "\n".join(self.lines)
