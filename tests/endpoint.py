"""A language model's endpoint on this machine that does what a script says.

Each request takes the next step of the script; the last one is repeated. What was asked is kept.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = [
    "Asked",
    "ScriptedEndpoint",
    "Step",
    "breaks_off",
    "events",
    "refuses",
    "sends",
    "serving",
    "stalls",
    "streams",
    "whole",
]

Step = Callable[[BaseHTTPRequestHandler, "ScriptedEndpoint"], None]


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class ScriptedEndpoint:
    """What a test knows of the endpoint.

    Attributes:
        base_url: What to configure.
        asked: The requests, in order.
        released: Ends every stall; set when the test is over.
        hung_up: Set when a client closed its connection while it was answered.
    """

    script: Sequence[Step]
    base_url: str = ""
    asked: list[Asked] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(*script: Step) -> Iterator[ScriptedEndpoint]:
    """Run an endpoint on a free port of the loopback address."""
    endpoint = ScriptedEndpoint(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            step = endpoint.script[min(len(endpoint.asked), len(endpoint.script) - 1)]
            endpoint.asked.append(Asked(self.path, dict(self.headers), json.loads(raw)))
            self.close_connection = True
            try:
                step(self, endpoint)
            except (BrokenPipeError, ConnectionResetError):
                endpoint.hung_up.set()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        endpoint.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def events(*pieces: str, finish: str | None = "stop", done: bool = True) -> str:
    """Write an answer as the events of a stream."""
    told = [{"choices": [{"delta": {"role": "assistant", "content": ""}}]}]
    told += [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    if finish:
        last: dict[str, Any] = {"delta": {}, "finish_reason": finish}
        told.append({"choices": [last]})
    lines = [f"data: {json.dumps(event)}\n\n" for event in told]
    return "".join(lines) + ("data: [DONE]\n\n" if done else "")


def sends(
    body: str | bytes,
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Step:
    """Send one whole answer."""
    raw = body.encode() if isinstance(body, str) else body

    def step(handler: BaseHTTPRequestHandler, _: ScriptedEndpoint) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(raw)

    return step


def streams(*pieces: str, finish: str | None = "stop", done: bool = True) -> Step:
    """Send an answer as a stream of events."""
    return sends(events(*pieces, finish=finish, done=done), content_type="text/event-stream")


def whole(text: str, *, finish: str = "stop") -> Step:
    """Send an answer that is not streamed."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return sends(json.dumps({"choices": [choice]}))


def refuses(status: int, message: str = "", **headers: str) -> Step:
    """Answer with a status and a message in OpenAI's shape."""
    told = json.dumps({"error": {"message": message}})
    return sends(told, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})


def _begin(handler: BaseHTTPRequestHandler, pieces: Sequence[str]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    if pieces:
        _chunk(handler, events(*pieces, finish=None, done=False))


def _chunk(handler: BaseHTTPRequestHandler, text: str) -> None:
    raw = text.encode()
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
    handler.wfile.flush()


def stalls(*pieces: str, comments: bool = False) -> Step:
    """Send the pieces, then nothing more, or comments alone, until the test ends."""

    def step(handler: BaseHTTPRequestHandler, endpoint: ScriptedEndpoint) -> None:
        _begin(handler, pieces)
        while not endpoint.released.wait(0.02):
            if comments:
                _chunk(handler, ": still here\n\n")

    return step


def breaks_off(*pieces: str) -> Step:
    """Send the pieces and close the connection in the middle of the stream."""
    return lambda handler, _: _begin(handler, pieces)
