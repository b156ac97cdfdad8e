"""Read what a language model wrote about a community. Pure.

The contract: strict JSON, in a code fence or not; an answer that is no JSON is kept as the summary;
JSON that breaks the schema is an error; only ``lenient`` repairs, and the report says what.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pathrag_gds.communities.content import KEY_ENTITIES, content_hash, most_central, title_of
from pathrag_gds.communities.json_text import (
    DuplicateKey,
    mend_json,
    read_json,
    strip_fence,
    strip_space,
)
from pathrag_gds.communities.types import (
    Community,
    CommunityContent,
    CommunityReport,
    Finding,
    Form,
    KeyEntitySource,
    Origin,
)
from pathrag_gds.errors import GraphRAGError
from pathrag_gds.text import fold

__all__ = ["MAX_RATING", "parse_report"]

MAX_RATING = 10.0

# A prompt that did not ask for key entities cannot be held against its answers.
_MAY_LACK_KEY_ENTITIES: frozenset[Origin] = frozenset({"recorded", "imported"})
_SHOWN_CHARACTERS = 40
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "a text"),
    (list, "a list"),
    (dict, "an object"),
)


def parse_report(
    answer: str,
    content: CommunityContent,
    *,
    origin: Origin = "llm",
    lenient: bool = False,
    digest: str = "",
) -> CommunityReport:
    """Read a report from an answer.

    The answer is one JSON object, in a code fence or not, with ``summary`` and ``key_entities``
    (ids of members) and, if it likes, ``title``, ``findings`` (objects with ``summary`` and
    ``explanation``), ``rating`` (0 to 10) and ``rating_explanation``. Null means absent; other
    fields are passed over; an id that comes twice counts once.

    - JSON that is all that: ``form`` is ``strict`` or ``fenced``.
    - No JSON: ``fallback``. The text is the summary and the first three ids are the key entities:
      enough to try things out, but look at such summaries before you rely on them.
    - JSON that is not that, or an empty answer: an error.
    - With ``lenient``, what can be mended is, and ``form`` is ``repaired``. A summary is never made
      up, nor are the key entities of a new answer.

    Args:
        answer: As the model gave it.
        content: Of the community that it was asked about.
        origin: ``llm`` for a new answer. Only ``recorded`` and ``imported`` ones may lack key
            entities: then the entities with the largest degrees are taken and
            ``key_entities_from`` is ``degree``.
        lenient: Repair what breaks the contract.
        digest: Hash to keep with the report, when more was told than the content; that of the
            content by default.

    Raises:
        GraphRAGError: The answer is empty or breaks the schema; ``failures`` holds the community
            and all that is wrong with the answer.
    """
    reader = _Reader(content, lenient)
    try:
        form, value = _read(answer, reader)
    except _NotJson:
        return _fallback(answer, content, origin, digest)
    fields = _object(value, reader)
    summary = _summary(fields, reader)
    keys, keys_from = _key_entities(fields, reader, origin)
    findings = _findings(fields, reader)
    rating = _rating(fields, reader)
    rating_explanation = _text(fields, "rating_explanation", reader)
    title = _text(fields, "title", reader)
    if reader.faults:
        raise reader.refusal()
    return CommunityReport(
        community_id=content.community.id,
        tenant_id=content.community.tenant_id,
        title=title or title_of(content, keys),
        summary=summary,
        key_entities=keys,
        origin=origin,
        form="repaired" if reader.repairs else form,
        key_entities_from=keys_from,
        content_hash=digest or content_hash(content),
        findings=findings,
        rating=rating,
        rating_explanation=rating_explanation,
        repairs=tuple(reader.repairs),
    )


class _NotJson(Exception):
    """The answer is no JSON, and could not be mended where that was allowed."""


@dataclass(slots=True)
class _Reader:
    """What was found wrong while an answer is read, and what was done about it."""

    content: CommunityContent
    lenient: bool
    faults: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)

    @property
    def community(self) -> Community:
        return self.content.community

    def wrong(self, fault: str, repair: str = "") -> None:
        """Note what is wrong, and what is done about it where that is allowed and possible."""
        if self.lenient and repair:
            self.repairs.append(f"{fault}: {repair}")
        else:
            self.faults.append(fault)

    def refusal(self) -> GraphRAGError:
        """Give the error that names all faults."""
        wrong = "; ".join(self.faults)
        return GraphRAGError(
            f"The report of community {self.community.id!r} of tenant "
            f"{self.community.tenant_id!r} is refused: {wrong}.",
            failures=((self.community.id, wrong),),
            hint="Ask the model for it again."
            if self.lenient
            else "Ask the model for it again, or parse it with lenient=True.",
        )


def _read(answer: str, reader: _Reader) -> tuple[Form, Any]:
    bare = strip_fence(answer)
    if not bare:
        reader.wrong("the answer is empty")
        raise reader.refusal()
    try:
        return ("strict" if bare == strip_space(answer) else "fenced"), read_json(bare)
    except DuplicateKey as error:
        if not reader.lenient:
            reader.wrong(f"the key {_shown(str(error))} comes twice")
            raise reader.refusal() from None
    except ValueError:
        if not reader.lenient:
            raise _NotJson from None
    try:
        value, repairs = mend_json(bare)
    except ValueError:
        raise _NotJson from None
    reader.repairs += repairs
    return "repaired", value


def _fallback(
    answer: str, content: CommunityContent, origin: Origin, digest: str
) -> CommunityReport:
    keys = content.community.node_ids[:KEY_ENTITIES]
    return CommunityReport(
        community_id=content.community.id,
        tenant_id=content.community.tenant_id,
        title=title_of(content, keys),
        summary=_storable(strip_space(answer)),
        key_entities=keys,
        origin=origin,
        form="fallback",
        key_entities_from="first",
        content_hash=digest or content_hash(content),
    )


def _object(value: Any, reader: _Reader) -> dict[str, Any]:
    """Give the fields; an object in a list or in another object counts where that is allowed."""
    if isinstance(value, dict) and "summary" in value:
        return value
    inner = list(value.values()) if isinstance(value, dict) else value
    fields: Any = inner[0] if isinstance(inner, list) and len(inner) == 1 else None
    if isinstance(fields, dict) and "summary" in fields:
        reader.wrong("the report lies in something else", "unwrapped")
    elif isinstance(value, dict):
        return value
    else:
        reader.wrong(f"the answer is {_kind(value)}, not an object")
    if reader.faults:
        # Without its fields, everything else would be missing too.
        raise reader.refusal()
    return dict(fields)


def _text(fields: dict[str, Any], key: str, reader: _Reader) -> str:
    """Give a text without white space around it; empty when it is absent."""
    return _as_text(fields.get(key), key, reader, "left out")


def _as_text(value: Any, name: str, reader: _Reader, repair: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        reader.wrong(f"{name} is {_kind(value)}, not a text", repair)
        return ""
    text = _storable(value)
    if text != value:
        reader.wrong(f"{name} has half a character", "put U+FFFD in its place")
    return text.strip()


def _summary(fields: dict[str, Any], reader: _Reader) -> str:
    value = fields.get("summary")
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        reader.wrong("summary is a list, not a text", "joined its texts")
        value = " ".join(value)
    text = _as_text(value, "summary", reader, "")
    if not text and (value is None or isinstance(value, str)):
        reader.wrong("summary is missing" if value is None else "summary is empty")
    return text


def _key_entities(
    fields: dict[str, Any], reader: _Reader, origin: Origin
) -> tuple[tuple[str, ...], KeyEntitySource]:
    value = fields.get("key_entities")
    if isinstance(value, str):
        reader.wrong("key_entities is a text, not a list", "took it for the only one")
        value = [value]
    if value is not None and not isinstance(value, list):
        reader.wrong(f"key_entities is {_kind(value)}, not a list", "left out")
        value = None
    found = [_member(item, reader) for item in value or ()]
    keys = tuple(dict.fromkeys(id_ for id_ in found if id_ is not None))
    if keys:
        return keys, "answer"
    if origin in _MAY_LACK_KEY_ENTITIES:
        return most_central(reader.content, count=KEY_ENTITIES), "degree"
    if not value or reader.lenient:
        reader.wrong("key_entities is missing" if value is None else "key_entities names no member")
    return (), "answer"


def _member(item: Any, reader: _Reader) -> str | None:
    """Give the id of the member that is meant, or None."""
    members = reader.community.node_ids
    if isinstance(item, str) and item in members:
        return item
    meant = str(item) if isinstance(item, int) and not isinstance(item, bool) else item
    if isinstance(meant, str):
        ids = [meant] if meant in members else _named(meant, reader.content)
        if len(ids) == 1:
            reader.wrong(f"key_entities: {_shown(item)} is no id", f"took {_shown(ids[0])}")
            return ids[0]
    reader.wrong(f"key_entities: {_shown(item)} is no member", "left out")
    return None


def _named(name: str, content: CommunityContent) -> list[str]:
    key = fold(name)
    return [entity.id for entity in content.entities if fold(entity.name) == key]


def _findings(fields: dict[str, Any], reader: _Reader) -> tuple[Finding, ...]:
    value = fields.get("findings")
    if value is None:
        return ()
    if not isinstance(value, list):
        reader.wrong(f"findings is {_kind(value)}, not a list", "left out")
        return ()
    found = (_finding(item, f"findings[{i}]", reader) for i, item in enumerate(value))
    return tuple(finding for finding in found if finding is not None)


def _finding(item: Any, name: str, reader: _Reader) -> Finding | None:
    if isinstance(item, str) and item.strip():
        reader.wrong(f"{name} is a text, not an object", "took it for the summary")
        item = {"summary": item}
    if not isinstance(item, dict):
        reader.wrong(f"{name} is {_kind(item)}, not an object", "left out")
        return None
    summary = _as_text(item.get("summary"), f"{name}.summary", reader, "left out")
    explanation = _as_text(item.get("explanation"), f"{name}.explanation", reader, "left out")
    if not summary:
        reader.wrong(f"{name} has no summary", "left out")
        return None
    return Finding(summary, explanation)


def _rating(fields: dict[str, Any], reader: _Reader) -> float | None:
    value = fields.get("rating")
    if value is None:
        return None
    number: float | None = None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str):
        number = _number(value)
        reader.wrong("rating is a text, not a number", "left out" if number is None else "read it")
    else:
        reader.wrong(f"rating is {_kind(value)}, not a number", "left out")
    if number is not None and not 0 <= number <= MAX_RATING:
        reader.wrong(f"rating is not from 0 to {MAX_RATING:g}", "left out")
        return None
    # Only now: an integer of JSON may be too large for a float.
    return None if number is None else float(number)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _kind(value: Any) -> str:
    """Name the type of a JSON value, with its article."""
    # A bool is an int to Python, so it comes first.
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return "null"


def _shown(value: Any) -> str:
    shown = ascii(value) if isinstance(value, str) and _storable(value) != value else repr(value)
    if len(shown) <= _SHOWN_CHARACTERS:
        return shown
    return shown[: _SHOWN_CHARACTERS - 1] + "…"


def _storable(text: str) -> str:
    """Put U+FFFD in the place of half characters, which neither a file nor a database takes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
