"""One line for each step: for people, or as JSON."""

import json
import sys

OK, FAILED, ABSENT = "ok", "failed", "absent"


class Report:
    """Prints outcomes as they come; `failed` counts those that were not what they had to be."""

    def __init__(self, as_json):
        self.as_json, self.failed, self.done = as_json, 0, 0

    def step(self, part, step, outcome, detail="", seconds=0.0, **figures):
        self.failed += outcome == FAILED
        self.done += outcome != ABSENT
        if self.as_json:
            line = {"part": part, "step": step, "outcome": outcome, "detail": detail, "seconds": round(seconds, 1), **figures}
            print(json.dumps(line, ensure_ascii=False), flush=True)
        else:
            told = " ".join(filter(None, [detail, *(f"{name}={value}" for name, value in figures.items())]))
            print(f"{part:<10} {step:<16} {outcome:<7} {seconds:6.1f} s  {told}".rstrip(), flush=True)

    def title(self, text):
        print(f"\n== {text}", file=sys.stderr, flush=True)
