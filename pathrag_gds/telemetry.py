"""Spans of what the program does, for OpenTelemetry: where a question's time goes, and what failed.

Off unless somebody asks for it, by :func:`enable` or by ``PATHRAG_TELEMETRY``; then a span costs a
call that returns a constant. The extra ``otel`` brings the library, which is imported when spans
are switched on and nowhere else.

A span of the family ``pathrag`` (``pathrag.query`` with ``pathrag.seed``, ``pathrag.expand``, … in
it) has attributes under ``rag.pathrag.``; one of the family ``graphrag`` (``graphrag.detect``,
``graphrag.summarize``, ``graphrag.retrieve``) under ``rag.graphrag.``, as the document "GraphRAG
architecture (Step 2.9)" names them. All have ``rag.tenant`` and ``elapsed_ms``. Attributes are
numbers, and names of methods, models and outcomes; what questions, nodes and answers say is left
out unless ``text`` is asked for. Of what was raised the class is told, and with ``text`` the
message, where it is an error of ours: those hold no credentials. No other message is ever told.

Whoever searches in many threads gets a tree for each question: a span belongs to the span that is
open in the same thread, or in the context that :func:`contextvars.copy_context` carried over.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from pathrag_gds.errors import ConfigError, MissingExtra, PathRAGError

if TYPE_CHECKING:
    from contextvars import Token
    from types import TracebackType

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import Tracer, TracerProvider

__all__ = [
    "Attribute",
    "Destination",
    "Span",
    "disable",
    "enable",
    "is_on",
    "record",
    "span",
    "span_tree",
    "start",
]

Attribute = bool | int | float | str | Sequence[str] | None
"""Value of an attribute; None leaves it out."""

Destination = Literal["off", "on", "tree", "otlp"]
"""Where spans go: nowhere; to the provider that the application set; as a tree to stderr; or to the
collector that the variables ``OTEL_EXPORTER_OTLP_…`` name."""

_NAME = "pathrag_gds"
_TENANT = "rag.tenant"
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"", "0", "false", "no", "off"})


class Span:
    """A span; this one where telemetry is off, so that it records nothing."""

    __slots__ = ()

    def set(self, **attributes: Attribute) -> None:
        """Add attributes."""

    def tell(self, **texts: Attribute) -> None:
        """Add attributes that quote questions, nodes or answers: only where text is asked for."""

    def fail(self, kind: str, message: str = "") -> None:
        """Mark it as failed, where what went wrong was caught.

        Args:
            kind: Class of the error.
            message: Told only where text is asked for; it holds no credentials.
        """

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it; what was raised goes on."""


_OFF = Span()


@dataclass(frozen=True, slots=True)
class _Recorder:
    """What is known while telemetry is on."""

    tracer: Tracer
    text: bool


_recorder: _Recorder | None = None
# Which destination was started, so that one process has one.
_started: tuple[Destination, bool] | None = None
_lock = Lock()


def span(name: str, *, tenant: str = "", **attributes: Attribute) -> Span:
    """Begin a span, to be used in a ``with`` statement that holds no ``yield``.

    Args:
        name: ``family.stage``.
        tenant: Whose graph; that of the span around it where it is left out.
        **attributes: Without their prefix. None is left out.
    """
    if _recorder is None:
        return _OFF
    return _Recorded(_recorder, name, tenant, attributes)


def record(name: str, seconds: float, **attributes: Attribute) -> None:
    """Add a span that has just ended; its parent and tenant are those of the span that is open.

    For calculations between the ``yield``s of a generator, where no span can be open.

    Args:
        name: ``family.stage``.
        seconds: How long it took, at least 0.
        **attributes: Without their prefix. None is left out.
    """
    if _recorder is None:
        return
    end = time.time_ns()
    told = _attributes(name, attributes | {"elapsed_ms": round(seconds * 1000, 3)})
    made = _recorder.tracer.start_span(
        name, attributes=_tenant_in_force() | told, start_time=end - int(seconds * 1e9)
    )
    made.end(end)


def is_on() -> bool:
    """Whether spans are recorded: ask before you count what only a span tells."""
    return _recorder is not None


def enable(*, text: bool = False, provider: TracerProvider | None = None) -> None:
    """Record spans from now on, in the whole process.

    Args:
        text: Tell what questions, nodes and answers say, and messages of errors.
        provider: Of OpenTelemetry, where spans go; by default the one that the application set.

    Raises:
        MissingExtra: The extra ``otel`` is not installed.
    """
    global _recorder
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise MissingExtra("otel", needed_for="Telemetry") from error
    from pathrag_gds.version import __version__

    tracer = trace.get_tracer(_NAME, __version__, tracer_provider=provider)
    _recorder = _Recorder(tracer, text)


def disable() -> None:
    """Record no spans any more; those that are open come to their end."""
    global _recorder, _started
    with _lock:
        _recorder = _started = None


def start(
    destination: str, text: str = "", *, write: Callable[[str], object] | None = None
) -> None:
    """Do what the settings ``telemetry`` and ``telemetry_text`` say; nothing if it is done already.

    Args:
        destination: One of :data:`Destination`; empty is ``off``, which leaves things as they are.
        text: ``1``, ``true``, ``yes`` or ``on``; ``0``, ``false``, ``no``, ``off`` or empty.
        write: Takes the trees; stderr by default.

    Raises:
        ConfigError: One of them is something else.
        MissingExtra: The extra ``otel``, or for ``otlp`` its exporter, is not installed.
    """
    global _started
    if text.lower() not in _YES | _NO:
        raise ConfigError(
            f"telemetry_text is {text!r}.", hint="Set PATHRAG_TELEMETRY_TEXT to 1 or 0."
        )
    if destination not in ("", *get_args(Destination)):
        known = ", ".join(get_args(Destination))
        raise ConfigError(
            f"telemetry is {destination!r}.", hint=f"Set PATHRAG_TELEMETRY to one of: {known}."
        )
    if destination in ("", "off"):
        return
    wanted = cast(Destination, destination), text.lower() in _YES
    with _lock:
        if _started == wanted:
            return
        enable(text=wanted[1], provider=_provider(wanted[0], write or _to_stderr))
        _started = wanted


def _provider(destination: Destination, write: Callable[[str], object]) -> TracerProvider | None:
    """Give the provider of a destination; None for the one that the application set."""
    if destination == "on":
        return None
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import (
            BatchSpanProcessor,
            SimpleSpanProcessor,
            SpanExporter,
        )
    except ImportError as error:
        raise MissingExtra("otel", needed_for="Telemetry") from error
    resource = Resource.create({SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME") or "pathrag"})
    provider = TracerProvider(resource=resource)
    if destination == "tree":
        printer = cast(SpanExporter, _TreePrinter(write))
        provider.add_span_processor(SimpleSpanProcessor(printer))
        return provider
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise MissingExtra("otel", needed_for="Telemetry to a collector") from error
    # What waits is sent when the process ends: the provider sees to it.
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _to_stderr(text: str) -> None:
    sys.stderr.write(text)


class _Recorded(Span):
    """A span that OpenTelemetry records."""

    __slots__ = ("_attributes", "_began", "_name", "_recorder", "_span", "_tenant", "_token")

    _span: OtelSpan
    _token: Token[Context]
    _began: float

    def __init__(
        self, recorder: _Recorder, name: str, tenant: str, attributes: Mapping[str, Attribute]
    ) -> None:
        self._recorder = recorder
        self._name = name
        self._tenant = tenant
        self._attributes = attributes

    def set(self, **attributes: Attribute) -> None:
        self._span.set_attributes(_attributes(self._name, attributes))

    def tell(self, **texts: Attribute) -> None:
        if self._recorder.text:
            self.set(**texts)

    def fail(self, kind: str, message: str = "") -> None:
        from opentelemetry.trace import Status, StatusCode

        told = {"exception.type": kind}
        if self._recorder.text and message:
            told["exception.message"] = message
        self._span.set_attribute("error.type", kind)
        # Never with record_exception: it takes the message, whoever wrote it, and the traceback.
        self._span.add_event("exception", told)
        self._span.set_status(Status(StatusCode.ERROR, kind))

    def __enter__(self) -> Span:
        from opentelemetry import context, trace

        told = _tenant_in_force() | ({_TENANT: self._tenant} if self._tenant else {})
        self._span = self._recorder.tracer.start_span(
            self._name, attributes=told | _attributes(self._name, self._attributes)
        )
        inside = context.set_value(_TENANT, told.get(_TENANT, ""))
        self._token = context.attach(trace.set_span_in_context(self._span, inside))
        self._began = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from opentelemetry import context

        self.set(elapsed_ms=round((time.perf_counter() - self._began) * 1000, 3))
        if error is not None:
            message = error.message if isinstance(error, PathRAGError) else ""
            self.fail(type(error).__name__, message)
        context.detach(self._token)
        self._span.end()


def _attributes(name: str, given: Mapping[str, Attribute]) -> dict[str, Any]:
    prefix = f"rag.{name.partition('.')[0]}."
    return {prefix + key: value for key, value in given.items() if value is not None}


def _tenant_in_force() -> dict[str, str]:
    from opentelemetry import context

    tenant = context.get_value(_TENANT)
    return {_TENANT: str(tenant)} if tenant else {}


@dataclass(slots=True)
class _TreePrinter:
    """An exporter that writes the tree of a trace when its root has ended."""

    write: Callable[[str], object]
    _waiting: dict[int, list[ReadableSpan]] = field(default_factory=lambda: defaultdict(list))

    def export(self, spans: Sequence[ReadableSpan]) -> object:
        from opentelemetry.sdk.trace.export import SpanExportResult

        for ended in spans:
            trace_id, _ = _ids(ended)
            self._waiting[trace_id].append(ended)
            # Of a span of somebody else's around ours we see no more than that it is there.
            if ended.parent is None or ended.parent.is_remote:
                self.write(span_tree(self._waiting.pop(trace_id)))
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """There is nothing to close."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits that could be written: roots are open still."""
        return True


def span_tree(spans: Iterable[ReadableSpan]) -> str:
    """Draw spans as a tree: a line each, with its time and its attributes.

    Args:
        spans: In any order. One whose parent is not among them is a root.

    Returns:
        Lines with their ends; siblings in the order of their beginning, those that began together
        in the order in which they ended.
    """
    given = list(spans)
    ids = {_ids(one)[1] for one in given}
    below: dict[int, list[ReadableSpan]] = defaultdict(list)
    for one in given:
        parent = one.parent.span_id if one.parent and one.parent.span_id in ids else 0
        below[parent].append(one)
    for siblings in below.values():
        siblings.sort(key=lambda one: (one.start_time or 0, one.end_time or 0))
    return "".join(line + "\n" for line in _lines(below, 0, ""))


def _lines(below: Mapping[int, Sequence[ReadableSpan]], parent: int, margin: str) -> Iterable[str]:
    siblings = below.get(parent, ())
    for one in siblings:
        last = one is siblings[-1]
        branch, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
        if not parent:
            branch = rest = ""
        yield f"{margin}{branch}{_told(one)}"
        yield from _lines(below, _ids(one)[1], margin + rest)


def _ids(one: ReadableSpan) -> tuple[int, int]:
    """Give the numbers of the trace and of the span."""
    known = one.get_span_context()
    return (known.trace_id, known.span_id) if known else (0, 0)


def _told(one: ReadableSpan) -> str:
    millis = ((one.end_time or 0) - (one.start_time or 0)) / 1e6
    told = [
        f"{key.rpartition('.')[2] if key.startswith('rag.') else key}={_value(value)}"
        for key, value in (one.attributes or {}).items()
        if not key.endswith(".elapsed_ms") and (key != _TENANT or one.parent is None)
    ]
    return "  ".join([one.name, f"{millis:.1f} ms", *([" ".join(told)] if told else [])])


def _value(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(str, value)) + "]"
    return str(value)
