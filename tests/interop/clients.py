"""The clients: how each program is run, and what its library cannot do."""

import pathlib
import sys
from dataclasses import dataclass, field

from program import Program
from servers import LOG4J

PROGRAMS = pathlib.Path(__file__).parent / "programs"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class Client:
    """`command` is made of the folder in which scripts/clients.sh installed things, and that of Apache Kafka's jars."""

    command: object
    codecs: tuple = CODECS
    lacks: tuple = ()  # verbs
    plain_headers: bool = False
    env: dict = field(default_factory=dict)

    def program(self, home, kafka, bootstrap):
        home = pathlib.Path(home)
        env = {name: str(home / path) for name, path in self.env.items()}
        return Program([str(part) for part in self.command(home, kafka)], env, bootstrap)


def python(name):
    return lambda home, _: [home / "python/bin/python", "-B", PROGRAMS / name]


CLIENTS = {
    "kcat": Client(
        lambda *_: [sys.executable, "-B", PROGRAMS / "kcat.py"],
        lacks=("grow", "delete", "delete-records", "set-config", "describe-group", "committed"),
        plain_headers=True,
    ),
    "java": Client(lambda home, kafka: ["java", "-Xmx512m", f"-Dlog4j2.configurationFile={LOG4J}", "-cp", f"{home / 'java'}:{kafka}/*", "Client"]),
    "confluent": Client(python("confluent.py")),
    "aiokafka": Client(python("aio.py")),
    "franz": Client(lambda home, _: [home / "franz/franz"]),
    "kafkajs": Client(
        lambda *_: ["node", PROGRAMS / "kafkajs/client.js"], codecs=("none", "gzip", "snappy", "lz4"), env={"NODE_PATH": "kafkajs/node_modules"}
    ),
}
