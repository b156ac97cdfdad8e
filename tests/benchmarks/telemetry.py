"""What telemetry costs: switched off, and recording into memory.

    python -m tests.benchmarks.telemetry

A question's spans are counted on the searches of ``tests/searching.py`` (a graph in memory, so
that nothing else takes time); times are medians over rounds that take turns, in this process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

from pathrag_gds import telemetry
from tests.fakes import MemoryGraph
from tests.searching import CHAIN, ask
from tests.spans import recording

_CALLS = 100_000
_SEARCHES = 200


def _nothing() -> None:
    return None


def _span() -> None:
    with telemetry.span("pathrag.expand", tenant="t", depth=1) as span:
        span.set(query="retrieve/expand", rows=100)


def _record() -> None:
    telemetry.record("pathrag.score", 0.001, depth=1)


def _search() -> None:
    ask(MemoryGraph(CHAIN, seeds=["a"]), max_depth=3)


def _each(work: Callable[[], object], calls: int) -> float:
    """Give microseconds for each call."""
    began = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - began) / calls * 1e6


def measure(rounds: int) -> dict[str, float]:
    """Measure in turns; microseconds, medians over the rounds."""
    found: dict[str, list[float]] = {}

    def note(what: str, value: float) -> None:
        found.setdefault(what, []).append(value)

    for _ in range(rounds):
        call = _each(_nothing, _CALLS)
        note("span_off", _each(_span, _CALLS) - call)
        note("record_off", _each(_record, _CALLS) - call)
        note("search_off", _each(_search, _SEARCHES))
        with recording():
            note("span_on", _each(_span, _SEARCHES))
            note("search_on", _each(_search, _SEARCHES))
    with recording() as recorded:
        _search()
    return {what: round(statistics.median(values), 3) for what, values in found.items()} | {
        "spans": len(recorded.spans)
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    figures = measure(parser.parse_args().rounds)
    figures["off_per_question"] = round(figures["spans"] * figures["span_off"], 3)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
