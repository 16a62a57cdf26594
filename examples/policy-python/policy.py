"""An index policy in Python: as in ../policy-js. The whole interpreter is in the component: it needs larger limits than a broker's defaults."""

import json

from wit_world import exports
from wit_world.exports.describe import Description
from wit_world.imports.types import IndexSpacing

UNBOUNDED = 2**64 - 1
FARTHEST = 65536
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "waste_percent": {
            "type": "integer", "minimum": 1, "maximum": 100, "default": 10,
            "description": "Bytes read in vain before a record that is sought, for each 100 of a typical fetch",
        },
    },
}

waste_percent = 10


class Describe(exports.Describe):
    def describe(self) -> Description:
        summary = "Indexes for the size of the fetches that seek; written in Python"
        return Description("policy-python", "1.0.0", summary, json.dumps(SCHEMA))


class Index(exports.Index):
    def init(self, config, context) -> None:
        global waste_percent
        waste_percent = json.loads(config).get("waste_percent", waste_percent)

    def decide(self, view) -> IndexSpacing:
        wasted = view.fetch_p50_bytes * waste_percent // 100
        bytes = min(wasted, FARTHEST) if view.seeks_per_min > 0 and wasted > 0 else FARTHEST
        return IndexSpacing(bytes, UNBOUNDED, UNBOUNDED)
