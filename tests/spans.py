"""Spans that a test recorded, as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pathrag_gds import telemetry

__all__ = ["Recorded", "attributes", "recording"]


class Recorded:
    """What was recorded, in the order in which the spans ended."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def one(self, name: str) -> ReadableSpan:
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def parents(self) -> list[tuple[str, str]]:
        """Give name and parent's name of each, in the order in which they began."""
        names = {span.context.span_id: span.name for span in self.spans if span.context}
        ordered = sorted(self.spans, key=lambda span: (span.start_time or 0, -(span.end_time or 0)))
        return [(span.name, names[span.parent.span_id] if span.parent else "") for span in ordered]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """Give the attributes without the time, which no test knows."""
    return {k: v for k, v in (span.attributes or {}).items() if not k.endswith(".elapsed_ms")}


@contextmanager
def recording(*, text: bool = False) -> Iterator[Recorded]:
    """Switch telemetry on, to a provider of the test's own."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.enable(text=text, provider=provider)
    try:
        yield Recorded(exporter)
    finally:
        telemetry.disable()
        provider.shutdown()
