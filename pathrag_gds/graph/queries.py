"""Read the statements under cypher/: one a file, each with a header that is checked both ways.

A header is the block of ``//`` lines at the top::

    // expand_frontier: one hop for the whole frontier, in one round trip
    // mode: read
    // param frontier: LIST<MAP> rows {row: INTEGER, id: STRING}
    // slot node_filter: predicate on m
    // returns row: INTEGER index into frontier
    // order: none
    // cost: one index seek per row
    // needs: Neo4j 5.26

The first line names the file and says what it does. ``mode`` is ``read``, ``write``, ``schema`` or
``auto`` (an auto-commit transaction, for CALL … IN TRANSACTIONS). Every ``$name`` in the text must
be declared by a ``param`` line, every ``${name}`` by a ``slot`` line, and every declaration used;
a slot's line names the parameters that its text may use.

Types cannot be parameters, so a statement may hold branches::

    // branch expand
    MATCH (n)${left}[r${type}]${right}(m) … LIMIT $cap
    // end branch

``Query.render`` repeats the branch per :class:`Branch` and joins the copies by UNION ALL. ``type``,
``left`` and ``right`` are filled in from the branch and need no declaration.

What is repeated one after the other stands between ``// each hop`` and ``// end each hop``, also
inside a branch or another such part; its copies are made of :class:`Part`, and a line of it that
holds nothing but empty slots is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, cast

from pathrag_gds.errors import ConfigError, QueryFileError

__all__ = [
    "Branch",
    "Param",
    "Part",
    "Query",
    "all_queries",
    "escape_identifier",
    "load",
    "parameters_in",
    "parse",
]

Mode = Literal["read", "write", "schema", "auto"]

_MODES = ("read", "write", "schema", "auto")
_BRANCH_SLOTS = frozenset({"type", "left", "right"})
_HEADER_LINE = re.compile(r"//\s*(?:(param|returns|slot)\s+)?([A-Za-z_][\w, ]*?)\s*:\s*(.*)$")
_HIDDEN = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`(?:``|[^`])*`|//[^\n]*|/\*.*?\*/", re.DOTALL
)
_PARAMETER = re.compile(r"\$([A-Za-z_]\w*)")
_SLOT = re.compile(r"\$\{(\w+)\}")
_BRANCH = re.compile(r"^[ \t]*// branch (\w+)[ \t]*\n(.*?)^[ \t]*// end branch[ \t]*$", re.M | re.S)

_EACH = re.compile(
    r"^[ \t]*// each (\w+)[ \t]*\n(.*?)^[ \t]*// end each \1[ \t]*(?:\n|\Z)", re.M | re.S
)


def escape_identifier(name: str) -> str:
    """Quote a label, relationship type or property key so that it is itself and nothing else.

    The backslash goes first: Cypher expands ``\\u0060`` inside back-ticks, so doubling alone would
    let a stored name close its own quotes.

    Raises:
        ConfigError: The name is empty or holds a NUL; Neo4j allows neither.
    """
    if not name or "\0" in name:
        raise ConfigError(f"{name!r} is not a name that Neo4j allows.")
    return "`" + name.replace("\\", "\\u005C").replace("`", "``") + "`"


def parameters_in(text: str) -> tuple[str, ...]:
    """List the parameters that a statement uses, each once, in the order of their first use.

    What stands in strings, back-ticks and comments is no parameter.
    """
    return tuple(dict.fromkeys(_PARAMETER.findall(_HIDDEN.sub(" ", text))))


@dataclass(frozen=True, slots=True)
class Param:
    """A declared parameter or result column: its name, its type and what it means."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Part:
    """One copy of what stands between ``// each NAME`` and ``// end each NAME``.

    Attributes:
        slots: Text of its placeholders; those around it hold, too.
        parts: Copies of what is repeated inside it, by name.
    """

    slots: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Sequence[Part]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Branch:
    """One copy of a branch.

    Attributes:
        types: Relationship types that it follows; empty for all.
        direction: ``out`` along stored relationships, ``in`` against them, ``both``.
        slots: Text of placeholders that differ from branch to branch.
        parts: Copies of what is repeated inside it, by name.
    """

    types: tuple[str, ...] = ()
    direction: Literal["out", "in", "both"] = "both"
    slots: Mapping[str, str] = field(default_factory=dict, hash=False)
    parts: Mapping[str, Sequence[Part]] = field(default_factory=dict, hash=False)

    def fill(self) -> dict[str, str]:
        """Give the text of each placeholder."""
        return {
            "type": ":" + "|".join(map(escape_identifier, self.types)) if self.types else "",
            "left": "<-" if self.direction == "in" else "-",
            "right": "->" if self.direction == "out" else "-",
            **self.slots,
        }


@dataclass(frozen=True, slots=True)
class Query:
    """A statement ready to run, or to render first when it has slots or branches.

    Attributes:
        name: Path under cypher/ without the ending, such as ``retrieve/expand``.
        text: The statement without its header.
        params: What ``run`` must be given, no more and no less.
        returns: Result columns in order; empty when it returns none.
        slots: Placeholders that ``render`` must be given; empty once rendered.
        timeout_s: The server stops it after so many seconds; None for the database's own limit.
        max_bytes: No more rows are read once these hold about so many bytes; None for all. Only
            for statements whose rows tell that some are missing.
    """

    name: str
    text: str
    mode: Mode
    params: tuple[Param, ...] = ()
    returns: tuple[Param, ...] = ()
    slots: tuple[str, ...] = ()
    summary: str = ""
    timeout_s: float | None = None
    max_bytes: int | None = None

    @property
    def has_branches(self) -> bool:
        """Whether the text still holds a branch to repeat."""
        return _BRANCH.search(self.text) is not None

    def render(
        self,
        slots: Mapping[str, str] | None = None,
        branches: Mapping[str, Sequence[Branch]] | None = None,
        parts: Mapping[str, Sequence[Part]] | None = None,
    ) -> Query:
        """Fill in slots, repeat branches and parts.

        Slot text is trusted: it comes from this package and holds user names only through
        :func:`escape_identifier`.

        Raises:
            ConfigError: A slot, a branch or a part of the file is not given, or one is given that
                the file does not have, or no branch would remain.
        """
        slots = dict(slots or {})
        branches = dict(branches or {})
        parts = dict(parts or {})
        names = [match.group(1) for match in _BRANCH.finditer(self.text)]
        _same(self.name, "branch", names, branches)
        in_branches = {slot for group in branches.values() for b in group for slot in b.slots}
        # The copies of a part bring its slots; without a copy none is needed.
        in_parts = set(self.slots) - set(_SLOT.findall(_EACH.sub("", self.text)))
        needed = set(self.slots) - in_branches - in_parts
        _same(self.name, "slot", needed | (in_parts & set(slots)), slots)
        text = self.text
        if not names:
            return replace(self, text=self._repeat(text, slots, parts), slots=())
        copies = [
            self._repeat(match.group(2), {**slots, **branch.fill()}, branch.parts)
            for match in _BRANCH.finditer(text)
            for branch in branches[match.group(1)]
        ]
        if not copies:
            raise ConfigError(f"{self.name}: no branch is left to run.")
        # Each part is filled once: a type may be named like a placeholder.
        first, last = _branch_span(text)
        before = self._fill(text[:first], slots)
        after = self._fill(text[last:].lstrip("\n"), slots)
        return replace(self, text=before + "    UNION ALL\n".join(copies) + after, slots=())

    def _repeat(
        self,
        text: str,
        slots: Mapping[str, str],
        parts: Mapping[str, Sequence[Part]],
        *,
        inside: bool = False,
    ) -> str:
        """Fill in a text whose parts are repeated, each piece of it once.

        Args:
            inside: It is a part itself, whose empty lines are left out.
        """

        def filled(piece: str) -> str:
            return self._fill(_without_empty(piece, slots) if inside else piece, slots)

        matches = list(_EACH.finditer(text))
        _same(self.name, "part", [match.group(1) for match in matches], parts)
        pieces = []
        position = 0
        for match in matches:
            pieces.append(filled(text[position : match.start()]))
            pieces += [
                self._repeat(match.group(2), {**slots, **part.slots}, part.parts, inside=True)
                for part in parts[match.group(1)]
            ]
            position = match.end()
        return "".join([*pieces, filled(text[position:])])

    def _fill(self, text: str, values: Mapping[str, str]) -> str:
        def value(match: re.Match[str]) -> str:
            if match.group(1) not in values:
                raise ConfigError(f"{self.name}: slot {match.group(1)!r} is not given.")
            return values[match.group(1)]

        return _SLOT.sub(value, text)

    def check(self, parameters: Mapping[str, object]) -> None:
        """Refuse to run what is not rendered, or with other parameters than the declared ones.

        Raises:
            ConfigError: Names the first parameter that is missing or unknown.
        """
        if self.slots or self.has_branches:
            raise ConfigError(f"{self.name} must be rendered before it runs.")
        declared = {param.name for param in self.params}
        missing = sorted(declared - set(parameters))
        unknown = sorted(set(parameters) - declared)
        if missing:
            raise ConfigError(f"{self.name}: parameter {missing[0]!r} is missing.")
        if unknown:
            raise ConfigError(f"{self.name}: there is no parameter {unknown[0]!r}.")


def _branch_span(text: str) -> tuple[int, int]:
    matches = list(_BRANCH.finditer(text))
    return matches[0].start(), matches[-1].end()


def _without_empty(text: str, slots: Mapping[str, str]) -> str:
    """Leave out the lines that hold nothing but empty slots."""
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if not line.strip() or _SLOT.sub(lambda m: slots.get(m.group(1), "."), line).strip()
    )


def _same(query: str, kind: str, wanted: Iterable[str], given: Iterable[str]) -> None:
    missing = sorted(set(wanted) - set(given))
    extra = sorted(set(given) - set(wanted))
    if missing:
        raise ConfigError(f"{query}: {kind} {missing[0]!r} is not given.")
    if extra:
        raise ConfigError(f"{query}: there is no {kind} {extra[0]!r}.")


def parse(source: str, *, name: str, path: Path | str) -> Query:
    """Parse one file.

    Args:
        source: Its text.
        name: What to call the query.
        path: Where it lies, for messages.

    Raises:
        QueryFileError: The header is missing, has an unknown or doubled key, no mode, a name that
            is not the file's; a parameter or slot is used undeclared or declared unused; there is
            a second statement.
    """
    lines = source.replace("\r\n", "\n").split("\n")
    header_length = next(
        (i for i, s in enumerate(lines) if not s.startswith("//") or s.startswith("// each ")),
        len(lines),
    )
    params: dict[str, tuple[Param, int]] = {}
    slots: dict[str, int] = {}
    in_slots: set[str] = set()
    returns: list[Param] = []
    seen: set[str] = set()
    mode = summary = ""
    for number, line in enumerate(lines[:header_length], start=1):
        if number > 1 and re.match(r"//\s{2,}\S", line):
            continue  # a wrapped line: indented text continues the one above
        match = _HEADER_LINE.match(line)
        if match is None:
            raise QueryFileError(
                f"not a header line: {line!r} (wrapped text is indented)", path=path, line=number
            )
        kind, key, rest = match.groups()
        if number == 1:
            if kind or key != name.rsplit("/", 1)[-1]:
                raise QueryFileError(
                    f"the first line must begin with the file's name {name!r}", path=path, line=1
                )
            summary = rest
        elif kind == "returns":
            returns += [Param(part.strip(), rest) for part in key.split(",")]
        elif kind in ("param", "slot"):
            if key in params or key in slots:
                raise QueryFileError(f"{key!r} is declared twice", path=path, line=number)
            if kind == "param":
                params[key] = (Param(key, rest), number)
            else:
                slots[key] = number
                in_slots.update(_PARAMETER.findall(rest))
        elif key in ("mode", "order", "cost", "needs", "note"):
            if key in seen and key != "note":
                raise QueryFileError(f"{key!r} stands twice", path=path, line=number)
            seen.add(key)
            if key == "mode":
                mode = rest.strip()
                if mode not in _MODES:
                    raise QueryFileError(
                        f"mode must be one of {', '.join(_MODES)}, not {mode!r}",
                        path=path,
                        line=number,
                    )
        else:
            raise QueryFileError(f"unknown header key {key!r}", path=path, line=number)
    if not header_length:
        raise QueryFileError("the file has no header", path=path, line=1)
    if not mode:
        raise QueryFileError("the header has no mode", path=path, line=1)

    body = "\n".join(lines[header_length:])
    visible = _HIDDEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), body)
    text = body.strip()
    if visible.rstrip().endswith(";"):
        text = text.removesuffix(";").rstrip()
    inner = visible.rstrip().removesuffix(";")
    if ";" in inner:
        number = header_length + 1 + inner[: inner.index(";")].count("\n")
        raise QueryFileError("a file holds one statement only", path=path, line=number)

    _check_names(
        visible,
        _PARAMETER,
        {k: n for k, (_, n) in params.items()},
        "param",
        path,
        header_length,
        in_slots,
    )
    free = {**slots, **{slot: 0 for slot in _BRANCH_SLOTS if _BRANCH.search(body)}}
    _check_names(visible, _SLOT, free, "slot", path, header_length)
    return Query(
        name=name,
        text=text,
        mode=cast(Mode, mode),
        params=tuple(param for param, _ in params.values()),
        returns=tuple(returns),
        slots=tuple(slots),
        summary=summary,
    )


def _check_names(
    visible: str,
    pattern: re.Pattern[str],
    declared: Mapping[str, int],
    kind: str,
    path: Path | str,
    offset: int,
    used_elsewhere: Iterable[str] = (),
) -> None:
    used = set(used_elsewhere)
    for match in pattern.finditer(visible):
        name = match.group(1)
        used.add(name)
        if name not in declared:
            raise QueryFileError(
                f"{match.group()} is used but not declared by a {kind!r} line",
                path=path,
                line=offset + 1 + visible[: match.start()].count("\n"),
            )
    for name, line in declared.items():
        if name not in used and line:
            raise QueryFileError(f"{kind} {name!r} is declared but not used", path=path, line=line)


@lru_cache(maxsize=1)
def cypher_folder() -> Path:
    """Give the folder of the statements: inside the package in a wheel, beside it in a checkout."""
    packaged = Path(str(files("pathrag_gds"))) / "cypher"
    return packaged if packaged.is_dir() else packaged.parent.parent / "cypher"


@lru_cache(maxsize=256)
def load(name: str) -> Query:
    """Read a statement by its name, such as ``retrieve/expand``; cached.

    Raises:
        QueryFileError: There is no such file, or it breaks the rules of :func:`parse`.
    """
    path = cypher_folder() / f"{name}.cypher"
    try:
        source = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise QueryFileError("there is no such statement", path=path, line=1) from error
    return parse(source, name=name, path=path)


def all_queries() -> tuple[Query, ...]:
    """Read every statement, by name in ascending order."""
    folder = cypher_folder()
    names = (p.relative_to(folder).with_suffix("").as_posix() for p in folder.rglob("*.cypher"))
    return tuple(load(name) for name in sorted(names))
