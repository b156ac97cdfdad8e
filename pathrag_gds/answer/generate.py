"""An answer that a language model writes from paths alone, and what of it the paths support.

The model is told to cite the number of a path after each statement. What it cites is checked: a
number must be one of the prompt's, and a sentence without one is marked. That a path is cited does
not prove that it says so; it says where to look. Where no path passes the threshold of the search,
no model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pathrag_gds import telemetry
from pathrag_gds.answer.prompt import NOT_IN_GRAPH
from pathrag_gds.text import words

if TYPE_CHECKING:
    from pathrag_gds.answer.prompt import PathPrompt
    from pathrag_gds.models.llm import LLM
    from pathrag_gds.types import Outcome, RankedPath, SearchResult

__all__ = [
    "GeneratedAnswer",
    "Sentence",
    "citations_of",
    "generate_answer",
    "read_answer",
    "read_sentences",
    "says_nothing",
]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer and what it cites.

    Attributes:
        text: As it was written, citations included.
        paths: Numbers of paths of the prompt that it cites, ascending.
        unknown: Numbers that it cites and that the prompt does not have, ascending.
        is_claim: Whether it has to cite: it states something. A heading does not, nor what leads
            to a list, nor that the graph does not say.
    """

    text: str
    paths: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()
    is_claim: bool = True

    @property
    def is_uncited(self) -> bool:
        """Whether it states something and cites no path that there is."""
        return self.is_claim and not self.paths


@dataclass(frozen=True, slots=True)
class GeneratedAnswer:
    """What a language model answered, and how far the paths bear it.

    Attributes:
        text: Of the answer; that the graph does not say, where no model was asked.
        outcome: ``answered``; ``partial``: the search or the answer was cut short;
            ``not_in_graph``: nothing passed the threshold, or the model found no answer in it.
        model: Name of the model; empty where none was asked.
        finish: Why the model ended, in the endpoint's word: ``stop`` where it was done; empty where
            none was asked.
        sentences: Of the text, in order; none where no model was asked.
        prompt: What the model was asked.
        result: Of the search.
        warnings: Of the search, and what is wrong with the answer.
        reason: Why it was answered from paths; empty where that was asked for.
    """

    text: str
    outcome: Outcome
    model: str
    finish: str
    sentences: tuple[Sentence, ...]
    prompt: PathPrompt
    result: SearchResult
    warnings: tuple[str, ...] = ()
    reason: str = ""

    @property
    def cited(self) -> tuple[RankedPath, ...]:
        """Give the paths that the answer cites, the best first."""
        numbers = {number for sentence in self.sentences for number in sentence.paths}
        return tuple(path for number, path in self.prompt.numbered.items() if number in numbers)

    @property
    def unknown(self) -> tuple[int, ...]:
        """Give the numbers that the answer cites and that the prompt does not have, ascending."""
        return tuple(sorted({number for s in self.sentences for number in s.unknown}))

    @property
    def uncited(self) -> tuple[str, ...]:
        """Give the sentences that state something and cite no path."""
        return tuple(sentence.text for sentence in self.sentences if sentence.is_uncited)

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON of the search's result with ``generated`` added."""
        return {
            **self.result.to_dict(),
            **({"reason": self.reason} if self.reason else {}),
            "generated": {
                "text": self.text,
                "outcome": self.outcome,
                "model": self.model,
                "finish": self.finish,
                "sentences": [
                    {
                        "text": sentence.text,
                        "paths": list(sentence.paths),
                        "unknown": list(sentence.unknown),
                        "uncited": sentence.is_uncited,
                    }
                    for sentence in self.sentences
                ],
                "cited": [path.rank for path in self.cited],
                "unknown": list(self.unknown),
                "uncited": list(self.uncited),
                "prompt_paths": list(self.prompt.numbered),
                "prompt_tokens": self.prompt.tokens,
                "warnings": list(self.warnings),
            },
        }


def generate_answer(
    result: SearchResult,
    prompt: PathPrompt,
    llm: LLM,
    *,
    on_text: Callable[[str], None] | None = None,
    stream: bool = True,
) -> GeneratedAnswer:
    """Let a language model answer from the paths of a prompt, and check what it cites.

    Where the search found no answer, the model is not asked, and nothing is sent.

    Args:
        result: Of the search.
        prompt: For that result.
        llm: Who answers.
        on_text: Called with each piece of the text as it comes. What it raises ends the request.
        stream: Ask for the answer piece by piece.

    Raises:
        LLMError: There is no answer, or it broke off.
    """
    told = on_text or (lambda _: None)
    if not (result.answers and prompt.paths):
        told(NOT_IN_GRAPH)
        outcome: Outcome = "partial" if result.outcome == "partial" else "not_in_graph"
        return GeneratedAnswer(NOT_IN_GRAPH, outcome, "", "", (), prompt, result, result.warnings)
    pieces: list[str] = []
    with telemetry.span(
        "pathrag.generate", tenant=result.tenant, model=llm.name, prompt_tokens=prompt.tokens
    ) as span:
        with closing(llm.chat(prompt.messages(), stream=stream)) as chat:
            finish = ""
            while True:
                try:
                    piece = next(chat)
                except StopIteration as end:
                    finish = end.value or ""
                    break
                told(piece)
                pieces.append(piece)
        answer = read_answer("".join(pieces), prompt, result, model=llm.name, finish=finish)
        span.set(
            outcome=answer.outcome,
            finish=finish,
            prompt_paths=len(prompt.numbered),
            sentences=len(answer.sentences),
            cited=len(answer.cited),
            uncited=len(answer.uncited),
        )
        span.tell(answer=answer.text)
        return answer


def read_answer(
    text: str, prompt: PathPrompt, result: SearchResult, *, model: str = "", finish: str = ""
) -> GeneratedAnswer:
    """Check the citations of an answer that a model gave to a prompt.

    Args:
        text: The answer; an empty one has no sentence.
        prompt: What was asked.
        result: What the prompt was made of.
        model: Who answered.
        finish: Why it ended.
    """
    text = text.strip()
    known = prompt.numbered
    names = {node.name for path in known.values() for node in path.nodes}
    sentences = read_sentences(text, known, names)
    cut_short = finish not in ("", "stop")
    outcome: Outcome = "answered"
    if says_nothing(text):
        outcome = "not_in_graph"
    elif cut_short or result.outcome == "partial":
        outcome = "partial"
    warnings = list(result.warnings)
    if cut_short:
        warnings.append(f"The model did not finish its answer ({finish}).")
    if unknown := sorted({number for s in sentences for number in s.unknown}):
        cited = ", ".join(f"[{number}]" for number in unknown)
        warnings.append(f"The answer cites {cited}, which the prompt does not have.")
    claims = [s for s in sentences if s.is_claim]
    if uncited := sum(s.is_uncited for s in claims):
        warnings.append(f"{uncited} of {len(claims)} sentences of the answer cite no path.")
    return GeneratedAnswer(text, outcome, model, finish, sentences, prompt, result, tuple(warnings))


_CITATION = re.compile(r"\[(\s*\d{1,9}(?:\s*[,;–-]\s*\d{1,9})*\s*)\]")
_NUMBERS = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")
_WIDEST_RANGE = 100
# Where a sentence may end: its marks, what closes after them, and citations that follow.
_END = re.compile(
    r"(?:[.!?…]+[\"'”’»)*_]*(?=\s|\[\d|$)|[。！？]+[」』”’)]*)(?:\s*\[[\d\s,;–-]+\][.]?)*"
)
_ABBREVIATIONS = frozenset(
    (
        "approx",
        "ca",
        "cf",
        "dr",
        "e.g",
        "etc",
        "fig",
        "i.e",
        "jr",
        "mr",
        "mrs",
        "ms",
        "prof",
        "sr",
        "st",
        "vs",
    )
)
# How far around its point a sentence's end is looked at.
_WINDOW = 40
_BULLET = re.compile(r"\s*(?:[-*•+]|\d+[.)])\s+")


def citations_of(text: str) -> tuple[int, ...]:
    """Give the numbers that a text cites, ascending: ``[3]``, ``[1, 4]``, ``[2][3]``, ``[2-4]``."""
    found: set[int] = set()
    for group in _CITATION.findall(text):
        for first, last in _NUMBERS.findall(group):
            start, end = int(first), int(last or first)
            # No prompt has so many paths: two numbers then, not all that lie between them.
            wide = not start <= end < start + _WIDEST_RANGE
            found.update((start, end) if wide else range(start, end + 1))
    return tuple(sorted(found))


def read_sentences(
    text: str, known: Collection[int], names: Collection[str] = ()
) -> tuple[Sentence, ...]:
    """Split an answer into sentences, each with the numbers that it cites.

    Args:
        known: Numbers that may be cited.
        names: That keep the points that they have.
    """
    return tuple(_read_sentence(s, known) for s in _sentences(text, names))


def _read_sentence(text: str, known: Collection[int]) -> Sentence:
    cited = citations_of(text)
    return Sentence(
        text,
        paths=tuple(n for n in cited if n in known),
        unknown=tuple(n for n in cited if n not in known),
        is_claim=not (text.startswith("#") or text.endswith((":", ":**")) or says_nothing(text)),
    )


def says_nothing(text: str) -> bool:
    """Whether a text says no more than that the graph does not say."""
    return words(_CITATION.sub("", text)) == words(NOT_IN_GRAPH)


def _sentences(text: str, names: Collection[str]) -> Iterator[str]:
    """Split a text where sentences and lines end; names keep the points that they have."""
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        rest = line[bullet.end() :] if bullet else line
        yield from (s for s in _split(rest, names) if words(s))


def _split(line: str, names: Iterable[str]) -> Iterator[str]:
    inside = [
        (found.start(), found.end())
        for name in sorted(names)
        if _END.search(name)
        for found in re.finditer(re.escape(name), line)
    ]
    start = 0
    for end in _END.finditer(line):
        point = end.start()
        within = any(first <= point < last - 1 for first, last in inside)
        before = line[max(start, point - _WINDOW) : point]
        after = line[end.end() : end.end() + _WINDOW]
        if not within and not _goes_on(before, line[point], after):
            yield line[start : end.end()].strip()
            start = end.end()
    yield line[start:].strip()


def _goes_on(before: str, mark: str, after: str) -> bool:
    """Whether a sentence goes on after what looks like its end."""
    rest = after.lstrip()
    if rest[:1].islower():
        return True
    if mark != "." or not before or before[-1].isspace():
        return False
    word = before.split()[-1].lstrip("([\"'“‘*_")
    initial = len(word) == 1 and word.isupper()
    number = word.lower() == "no" and rest[:1].isdigit()
    return initial or number or word.lower() in _ABBREVIATIONS
