"""The servers of a run: SeaweedFS, Tidegate on it, and Apache Kafka to compare with; on free ports of 127.0.0.1, ended with the run."""

import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time
import urllib.error
import urllib.request

BUCKET, KEY, SECRET = "tidegate", "interop", "interop-secret"
READY_S = 120
STOP_S = 60
PARTITIONS = 6  # of a topic that is created without a number
POLICIES = {"flush": "flush-adaptive", "index": "index-spacing", "read-ahead": "read-ahead-fixed"}
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
LOG4J = pathlib.Path(__file__).parent / "log4j2.properties"


class ServerError(Exception):
    """A server does not do what a run needs; the message has its last words."""


def free_ports(count):
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


class Server:
    """A process with a folder of its own, killed at the end of a `with`."""

    name = "server"

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.child = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end(signal.SIGKILL)

    def spawn(self, command, env=None, stdout=None):
        with (self.folder / "log").open("ab") as log:
            self.child = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.DEVNULL, stdout=stdout or log, stderr=log, env={**os.environ, **(env or {})},
                cwd=self.folder, text=True, start_new_session=True,
            )  # fmt: skip

    def end(self, signal_number):
        if self.child and self.child.poll() is None:
            self.child.send_signal(signal_number)
            self.child.wait(STOP_S)

    def last_words(self):
        return "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-15:])

    def until(self, answers):
        deadline = time.monotonic() + READY_S
        while not answers():
            if self.child.poll() is not None:
                raise ServerError(f"{self.name} ended at its start:\n{self.last_words()}")
            if time.monotonic() > deadline:
                raise ServerError(f"{self.name} does not answer within {READY_S} s:\n{self.last_words()}")
            time.sleep(0.1)


class SeaweedFs(Server):
    """An S3 server with real signatures and conditional writes."""

    name = "SeaweedFS"

    def __init__(self, folder, weed):
        super().__init__(folder)
        self.weed, self.port = weed, None

    def start(self):
        names = ["s3", "master", "volume", "filer", "admin", "s3.port.grpc", "master.port.grpc", "volume.port.grpc", "filer.port.grpc"]
        ports = free_ports(len(names))
        self.port = ports[0]
        options = [f"-{name if '.' in name else name + '.port'}={port}" for name, port in zip(names, ports)]
        command = [self.weed, "mini", f"-dir={self.folder}/data", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-bucket={BUCKET}", *options]
        command += ["-admin.ui=false", "-webdav=false", "-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        (self.folder / "data").mkdir(exist_ok=True)
        self.spawn(command, {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET})
        self.until(self.has_bucket)

    def has_bucket(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{BUCKET}/", timeout=2)
        except urllib.error.HTTPError as refused:  # 403: it is there, and wants a signature
            return refused.code == 403
        except OSError:
            return False
        return True

    def store(self, prefix):
        """The settings of a store below `prefix`."""
        return {
            "kind": "s3", "bucket": BUCKET, "prefix": prefix, "endpoint": f"http://127.0.0.1:{self.port}",
            "access_key": KEY, "secret_key": SECRET,
        }  # fmt: skip


class Tidegate(Server):
    """The broker, with `policies` bound to every topic; after `end` it can be started again at the same address."""

    name = "tidegate"

    def __init__(self, folder, binary, plugins, store, policies=POLICIES, security=None):
        super().__init__(folder)
        self.binary, self.plugins, self.policies, self.admin = binary, plugins, policies, None
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        table = lambda values: "\n".join(f"{key} = {json.dumps(value)}" for key, value in values.items())
        sections = {
            "[store]": store,
            "[topic_defaults]": {"partitions": PARTITIONS},
            "[admin]": {"listen": "127.0.0.1:0"},
            "[broker]": {"node_id": 1},
            "[[broker.listener]]": {"listen": self.address},
        }
        if security:
            sections["[broker.security]"] = security
        (self.folder / "tidegate.toml").write_text("\n\n".join(f"{title}\n{table(values)}" for title, values in sections.items()) + "\n")

    def start(self):
        bindings = [option for kind, policy in self.policies.items() for option in ("--bind", f"{kind}={policy}")]
        command = [self.binary, "serve", "--json", "--config", self.folder / "tidegate.toml", "--plugins", self.plugins, *bindings]
        self.spawn(command, stdout=subprocess.PIPE)
        line = self.child.stdout.readline()  # it comes when it is ready, or ends
        if not line:
            raise ServerError(f"{self.name} ended at its start:\n{self.last_words()}")
        self.admin = json.loads(line)["admin"]

    def ask(self, path):
        """The answer of its admin API."""
        with urllib.request.urlopen(self.admin + path, timeout=30) as answer:
            return json.load(answer)


class ApacheKafka(Server):
    """Apache Kafka on a local directory: one node, one replica of everything."""

    name = "Apache Kafka"

    def __init__(self, folder, libs):
        super().__init__(folder)
        self.libs = libs
        broker, controller = free_ports(2)
        self.address = f"127.0.0.1:{broker}"
        internal = {"offsets.topic": "", "transaction.state.log": "", "share.coordinator.state.topic": ""}
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
            "log.dirs": self.folder / "data",
            "num.partitions": PARTITIONS,
            "group.initial.rebalance.delay.ms": 1000,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            **{f"{name}.replication.factor": 1 for name in internal},
            **{f"{name}.num.partitions": 4 for name in internal},
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.min.isr": 1,
        }
        (self.folder / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def java(self, main, *args):
        return ["java", "-Xmx1g", f"-Dlog4j2.configurationFile={LOG4J}", "-cp", f"{self.libs}/*", main, *args]

    def start(self):
        config = self.folder / "server.properties"
        # Without the feature that would give every topic a setting that nobody asked for.
        format = ["format", "--standalone", "--ignore-formatted", "--feature", "eligible.leader.replicas.version=0", "-t", CLUSTER_ID]
        self.spawn(self.java("kafka.tools.StorageTool", *format, "-c", config))
        if self.child.wait(READY_S):
            raise ServerError(f"{self.name} cannot format its directory:\n{self.last_words()}")
        self.spawn(self.java("kafka.Kafka", config))
        self.until(self.answers)

    def answers(self):
        """Whether it answers ApiVersions."""
        request = struct.pack(">hhih", 18, 0, 7, -1)
        host, port = self.address.split(":")
        try:
            with socket.create_connection((host, int(port)), 2) as connection:
                connection.sendall(struct.pack(">i", len(request)) + request)
                return len(connection.recv(10, socket.MSG_WAITALL)) == 10
        except OSError:
            return False
