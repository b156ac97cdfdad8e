"""Language models behind an endpoint that speaks OpenAI's chat completions.

That is OpenAI's own, and Ollama, vLLM, llama.cpp, LM Studio, OpenRouter and most others. Importing
this module is light: the HTTP library is imported when a model is opened. Nothing is sent anywhere
but to the endpoint that somebody named, and redirects are not followed.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol

from pathrag_gds.config import Endpoint
from pathrag_gds.errors import ConfigError, LLMError, MissingExtra
from pathrag_gds.version import __version__

if TYPE_CHECKING:
    from types import ModuleType

    import httpx2

__all__ = ["LLM", "ChatClient", "ChatOptions", "Message"]

LOG = logging.getLogger(__name__)

Message = Mapping[str, str]
"""``role`` (``system``, ``user`` or ``assistant``) and ``content``."""

_EVENTS = "text/event-stream"
_DONE = "[DONE]"
_ERROR_BYTES = 8_000
_ANSWER_BYTES = 16_000_000
_EXCERPT = 200
_TOO_MANY = 429
# Quotas do not come back within seconds, as rates do.
_NO_QUOTA = "insufficient_quota"


class LLM(Protocol):
    """A language model that answers a chat."""

    @property
    def name(self) -> str:
        """Give what the model is called."""
        ...

    def chat(
        self, messages: Sequence[Message], *, stream: bool = True
    ) -> Generator[str, None, str]:
        """Yield the answer piece by piece, and return why it ended.

        Closing the generator ends the request.

        Args:
            messages: The chat so far, at least one.
            stream: Yield each piece as it comes; else the whole answer as one piece.

        Returns:
            ``stop`` where the model was done, ``length`` where it ran out of tokens, or another
            word of the endpoint's.

        Raises:
            LLMError: There is no answer, or it broke off. Pieces that came before stay yielded.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How an endpoint is asked.

    Attributes:
        temperature: Of the model, at least 0; left out of a request where the model refuses it.
        connect_s: Seconds to wait for a connection, above 0.
        read_s: Longest silence, in seconds, above 0; a model may think as long before its first
            word.
        time_limit_s: Seconds for everything together, tries and waits included, above 0; looked
            at whenever something comes, or silence ends.
        retries: How often a request is sent again before the first piece came: when the endpoint
            answers 429 or 5xx, is silent for too long, or the connection breaks. At least 0.
        backoff_s: Seconds before the first of them; twice as long before each further one. The
            endpoint's own ``Retry-After`` goes before it.
        max_wait_s: Longest of these waits. An endpoint that asks for more is not asked again.

    Raises:
        ConfigError: A value is out of range.
    """

    temperature: float = 0.0
    connect_s: float = 10.0
    read_s: float = 120.0
    time_limit_s: float = 600.0
    retries: int = 3
    backoff_s: float = 0.5
    max_wait_s: float = 30.0

    def __post_init__(self) -> None:
        for name in ("connect_s", "read_s", "time_limit_s"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} must be above 0, not {getattr(self, name)!r}.")
        for name in ("temperature", "retries", "backoff_s", "max_wait_s"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} must be at least 0, not {getattr(self, name)!r}.")


class ChatClient:
    """Ask the model of an endpoint. Thread safe; each chat has a connection of its own.

    Args:
        endpoint: Where it answers.
        options: Time-outs and retries.
        sleep: Waits between tries.

    Raises:
        MissingExtra: The HTTP library is not installed.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        options: ChatOptions | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = _import_http()
        self._endpoint = endpoint
        self._options = options or ChatOptions()
        self._sleep = sleep

    @property
    def name(self) -> str:
        """Give the model's name at the endpoint."""
        return self._endpoint.model

    def __repr__(self) -> str:
        return f"ChatClient({self._endpoint!r})"

    def chat(
        self, messages: Sequence[Message], *, stream: bool = True
    ) -> Generator[str, None, str]:
        """Ask, and ask again where a failure may pass; see :meth:`LLM.chat`."""
        options = self._options
        deadline = time.monotonic() + options.time_limit_s
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [dict(message) for message in messages],
            "stream": stream,
            "temperature": options.temperature,
        }
        tries = 0
        while True:
            try:
                return (yield from self._send(body, deadline))
            except _TemperatureRefused:
                del body["temperature"]
            except _MayPass as failure:
                tries += 1
                wait = options.backoff_s * 2 ** (tries - 1)
                wait = min(wait, options.max_wait_s) if failure.wait_s is None else failure.wait_s
                left = deadline - time.monotonic()
                if tries > options.retries or wait > min(left, options.max_wait_s):
                    raise failure.error(tries) from failure.__cause__
                LOG.info("%s Asked again in %.1f s.", failure, wait)
                self._sleep(wait)

    def _send(self, body: Mapping[str, Any], deadline: float) -> Generator[str, None, str]:
        """Send one request; yield what comes, and return why it ended."""
        http = self._http
        begun = False
        try:
            with (
                http.Client(timeout=self._timeout(deadline)) as client,
                client.stream(
                    "POST",
                    f"{self._endpoint.base_url}/chat/completions",
                    headers=self._headers(),
                    # Escapes write any text, also what has no form of its own in UTF-8.
                    content=json.dumps(body).encode("ascii"),
                ) as response,
                closing(self._answer(response, body, deadline)) as pieces,
            ):
                finish = ""
                for text, reason in pieces:
                    finish = reason or finish
                    if text:
                        begun = True
                        yield text
        except http.InvalidURL as error:
            raise self._error(
                f"has an address that cannot be asked: {error}", hint=_CHECK_ADDRESS
            ) from error
        except http.TimeoutException as error:
            raise self._failure(begun, self._silence(error, deadline)) from error
        except http.HTTPError as error:
            told = self._excerpt(str(error)) or type(error).__name__
            raise self._failure(begun, f"cannot be reached: {told}.", _CHECK_RUNNING) from error
        except _BrokenOff as error:
            raise self._failure(begun, f"broke off: {error}") from None
        if not begun:
            raise self._error(
                f"gave an empty answer (it ended with {self._excerpt(finish)!r}).",
                hint="Ask again, or name another model by PATHRAG_LLM_MODEL.",
            )
        return finish

    def _answer(
        self, response: httpx2.Response, body: Mapping[str, Any], deadline: float
    ) -> Generator[tuple[str, str], None, None]:
        """Yield pieces of text, each with why the answer ends; empty where it does not."""
        if response.status_code != self._http.codes.OK:
            raise self._refusal(response, body, deadline)
        checked = self._within(deadline, response.iter_bytes())
        if _content_type(response) != _EVENTS:
            yield self._piece(_read(checked, _ANSWER_BYTES))
            return
        # Comments keep a connection alive for ever, and the reader of events swallows them: so what
        # it reads is checked for the time.
        events = self._http.EventSource(
            self._http.Response(
                response.status_code,
                headers={"Content-Type": _EVENTS},
                content=checked,
                request=response.request,
            )
        )
        finish = ""
        for event in events:
            if event.data == _DONE:
                return
            if event.data:
                text, reason = self._piece(event.data)
                finish = reason or finish
                yield text, reason
        if not finish:
            raise _BrokenOff("the connection was closed before the end of the answer.")

    def _piece(self, data: str | bytes) -> tuple[str, str]:
        try:
            told = json.loads(data)
            if told.get("error"):
                raise _BrokenOff(self._excerpt(_message(told)))
            # A message about tokens has no choice.
            choice = (told["choices"] or [{"delta": {}}])[0]
            message = choice.get("delta") or choice.get("message") or {}
            text = message.get("content") or message.get("refusal") or ""
            return "" + text, "" + (choice.get("finish_reason") or "")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(data, bytes):
                data = data.decode("utf-8", "replace")
            raise self._error(
                f"sent what is no chat completion: {self._excerpt(data)!r}.", hint=_CHECK_ADDRESS
            ) from error

    def _refusal(
        self, response: httpx2.Response, body: Mapping[str, Any], deadline: float
    ) -> Exception:
        status = response.status_code
        raw = _read(self._within(deadline, response.iter_bytes()), _ERROR_BYTES)
        try:
            told = json.loads(raw)
        except (ValueError, RecursionError):
            told = raw.decode("utf-8", "replace")
        message = self._excerpt(_message(told))
        what = f"answered {status}{f': {message}' if message else ''}."
        refused = self._error(what, hint=_HINTS.get(status, ""), status=status)
        used_up = status == _TOO_MANY and _NO_QUOTA.encode() in raw
        if status == _TOO_MANY or status >= self._http.codes.INTERNAL_SERVER_ERROR:
            return refused if used_up else _MayPass(refused, _retry_after(response))
        about_temperature = status == self._http.codes.BAD_REQUEST and "temperature" in message
        if about_temperature and "temperature" in body:
            return _TemperatureRefused()
        return refused

    def _headers(self) -> dict[str, str]:
        key = self._endpoint.api_key
        return {
            "Accept": f"{_EVENTS}, application/json",
            "Content-Type": "application/json",
            "User-Agent": f"pathrag-gds/{__version__}",
            **({"Authorization": f"Bearer {key}"} if key else {}),
        }

    def _timeout(self, deadline: float) -> httpx2.Timeout:
        left = max(deadline - time.monotonic(), 0.001)
        options = self._options
        timeout: httpx2.Timeout = self._http.Timeout(
            min(options.read_s, left), connect=min(options.connect_s, left)
        )
        return timeout

    def _within(self, deadline: float, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if time.monotonic() > deadline:
                raise self._http.ReadTimeout("The time is up.")
            yield chunk

    def _silence(self, error: Exception, deadline: float) -> str:
        options = self._options
        if time.monotonic() >= deadline:
            return f"was not done within {options.time_limit_s:g} s."
        if isinstance(error, self._http.ConnectTimeout):
            return f"cannot be reached: no connection within {options.connect_s:g} s."
        return f"was silent for {options.read_s:g} s."

    def _failure(self, begun: bool, what: str, hint: str = "") -> Exception:
        """Make the error of what happened; one that may pass only before the answer began."""
        if begun:
            return self._error(
                f"did not finish its answer: it {what}", hint="Ask again; what came is incomplete."
            )
        return _MayPass(self._error(what, hint=hint))

    def _error(self, what: str, *, hint: str = "", status: int = 0) -> LLMError:
        where = f"The language model {self.name!r} at {self._endpoint.base_url}"
        return LLMError(f"{where} {what}", hint=hint, status=status)

    def _excerpt(self, text: str) -> str:
        """Make a text of the endpoint fit for a message: short, one line, and without the key."""
        if self._endpoint.api_key:
            text = text.replace(self._endpoint.api_key, "…")
        line = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))
        return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"


class _MayPass(Exception):
    """A failure before the first piece of an answer, so that the request can be sent again.

    Attributes:
        wait_s: Seconds that the endpoint asks to wait; None where it does not say.
    """

    def __init__(self, error: LLMError, wait_s: float | None = None) -> None:
        super().__init__(error.message)
        self._error = error
        self.wait_s = wait_s

    def error(self, tries: int) -> LLMError:
        """Give the error to raise when there is no more trying."""
        told = f" It was asked {tries} times." if tries > 1 else ""
        asked = "" if self.wait_s is None else f"It asks to wait {self.wait_s:g} s."
        return LLMError(
            self._error.message + told, hint=asked or self._error.hint, status=self._error.status
        )


class _TemperatureRefused(Exception):
    """The model takes no temperature but its own."""


class _BrokenOff(Exception):
    """An answer ended before its end; says why."""


_CHECK_ADDRESS = "Check PATHRAG_LLM_BASE_URL, which often ends in /v1."
_CHECK_RUNNING = "Is it running, and is PATHRAG_LLM_BASE_URL right?"
_CHECK_KEY = "Set PATHRAG_LLM_API_KEY, or OPENAI_API_KEY beside OPENAI_BASE_URL."
_HINTS = {
    400: "Where it says that the prompt is too long: give --budget a smaller number.",
    401: _CHECK_KEY,
    403: _CHECK_KEY,
    404: f"{_CHECK_ADDRESS} Does PATHRAG_LLM_MODEL name a model that it has?",
    413: "Give --budget a smaller number.",
    _TOO_MANY: "It has a limit of its own; ask later, or name another endpoint.",
}


def _import_http() -> ModuleType:
    try:
        import httpx2
    except ImportError as error:
        raise MissingExtra("llm", needed_for="A language model") from error
    return httpx2


def _content_type(response: httpx2.Response) -> str:
    name, _, _ = str(response.headers.get("Content-Type", "")).partition(";")
    return name.strip().lower()


def _read(chunks: Iterator[bytes], limit: int) -> bytes:
    """Read at most so many bytes: an endpoint could send for ever."""
    read = b""
    for chunk in chunks:
        read += chunk
        if len(read) >= limit:
            break
    return read[:limit]


def _message(told: Any) -> str:
    """Find what an error says; endpoints agree on no one shape."""
    while isinstance(told, Mapping):
        told = next((told[k] for k in ("error", "message", "detail") if told.get(k)), "")
    return told if isinstance(told, str) else json.dumps(told)


def _retry_after(response: httpx2.Response) -> float | None:
    """Read how many seconds to wait: a number or a date; None for anything else."""
    value = response.headers.get("Retry-After", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
