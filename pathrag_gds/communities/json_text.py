"""Read the JSON that a language model wrote: strictly, or mended. Pure.

Mending never invents a value: it leaves out what cannot be read, or what the answer broke off in.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = ["DuplicateKey", "mend_json", "read_json", "strip_fence", "strip_space"]

_OPENING = re.compile(r"`{3,}[ \t]*[\w+.-]*[ \t]*(?:\r?\n|(?=[{\[]))")
_CLOSING = re.compile(r"\s*`{3,}\Z")
# A whole text, a text that breaks off, or what gives JSON its shape.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<half>"(?:[^"\\]|\\.)*\\?\Z)|[{}\[\],]', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
# An answer that breaks off needs one or two tries; what needs more is no JSON at all.
_TRIES = 20

_AROUND = "left out the text around the JSON"
_COMMA = "left out a comma before a closing bracket"
_BROKEN_OFF = "closed the JSON where it broke off, without its unfinished last part"
_CONTROL = "accepted line breaks or other control characters inside a text"
_TWICE = "kept the last value of a key that comes twice"

_Pairs = list[tuple[str, Any]]


class DuplicateKey(ValueError):
    """A JSON object has a key twice; the message is that key."""


def strip_space(text: str) -> str:
    """Take off white space at both ends, and a byte order mark."""
    return text.strip().removeprefix("\ufeff").strip()


def strip_fence(text: str) -> str:
    """Take off the code fence around an answer, and white space around and in it.

    An opening fence goes without a closing one too, and the other way round. A fence inside the
    text stays.
    """
    bare = strip_space(text)
    opening = _OPENING.match(bare)
    bare = bare[opening.end() :] if opening else bare
    return _CLOSING.sub("", bare).strip()


def read_json(text: str) -> Any:
    """Read JSON by the letter: no NaN, no bare control characters, no key twice.

    Raises:
        DuplicateKey: It is JSON, but an object has a key twice.
        ValueError: It is not JSON, or nested too deeply to be read.
    """
    # What is no JSON at all must not be called JSON with a key twice.
    _load(text, dict)
    return _load(text, _unique)


def mend_json(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read the first JSON object in a text that is not quite JSON.

    Text around it, commas before a closing bracket, control characters inside a text and keys
    that come twice are passed over; an object that breaks off is closed, without its unfinished
    last part: half a number or half an id is another one.

    Returns:
        The object, and what was done, in order; nothing for an object that needed no mending.

    Raises:
        ValueError: There is no object, or an empty one, or it is broken in another way.
    """
    bare = strip_fence(text)
    start = bare.find("{")
    if start < 0:
        raise ValueError("no JSON object")
    scan = _scan(bare[start:])
    for candidate in _candidates(scan):
        try:
            value = _load(candidate, dict, strict=False)
        except ValueError:
            continue
        if not value:
            break
        done = {
            _AROUND: bool(start or strip_fence(scan.rest)),
            _COMMA: bool(scan.commas),
            _BROKEN_OFF: bool(scan.closers),
            _CONTROL: _fails(candidate, dict),
            _TWICE: _fails(candidate, _unique, strict=False),
        }
        return value, tuple(what for what, was in done.items() if was)
    raise ValueError("no JSON object that can be mended")


@dataclass(frozen=True, slots=True)
class _Scan:
    """How far an object reaches, as brackets and quotes tell.

    Attributes:
        text: The object.
        commas: Where in it commas stand before closing brackets.
        closers: What would close it; empty when it is closed.
        cuts: Where else it can be cut, and what would close it there, the last first.
        rest: What follows it.
    """

    text: str
    commas: tuple[int, ...]
    closers: str
    cuts: tuple[tuple[int, str], ...]
    rest: str


def _scan(text: str) -> _Scan:
    """Follow an object from its opening bracket, with which the text begins, to its end."""
    opened: list[str] = []
    cuts: deque[tuple[int, str]] = deque(maxlen=_TRIES)
    commas: list[int] = []
    comma = -1
    last = 0
    whole = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in _CLOSERS:
            opened.append(_CLOSERS[token])
        elif token == ",":
            cuts.appendleft((match.start(), _closing(opened)))
        elif token in _CLOSERS.values():
            if opened.pop() != token:
                raise ValueError(f"{token!r} closes what was not opened")
            if comma >= 0 and not text[comma + 1 : match.start()].strip():
                commas.append(comma)
        comma = match.start() if token == "," else -1
        last = match.end()
        whole = token.endswith(('"', "}", "]")) and match["half"] is None
        if not opened:
            return _Scan(text[:last], tuple(commas), "", (), text[last:])
    if whole and last == len(text):
        # Nothing but brackets may be missing. Otherwise the last part may have lost its end.
        cuts.appendleft((last, _closing(opened)))
    return _Scan(text, tuple(commas), _closing(opened), tuple(cuts), "")


def _closing(opened: list[str]) -> str:
    return "".join(reversed(opened))


def _candidates(scan: _Scan) -> Iterator[str]:
    """Give the texts that may be the object, the longest first."""
    for end, closers in scan.cuts if scan.closers else ((len(scan.text), ""),):
        starts = (0, *(comma + 1 for comma in scan.commas if comma < end))
        ends = (*(comma for comma in scan.commas if comma < end), end)
        kept = (scan.text[a:b] for a, b in zip(starts, ends, strict=True))
        yield "".join(kept) + closers


def _fails(text: str, pairs: Callable[[_Pairs], Any], *, strict: bool = True) -> bool:
    try:
        _load(text, pairs, strict=strict)
    except ValueError:
        return True
    return False


def _load(text: str, pairs: Callable[[_Pairs], Any], *, strict: bool = True) -> Any:
    try:
        return json.loads(
            text, strict=strict, object_pairs_hook=pairs, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: _Pairs) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DuplicateKey(key)
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
