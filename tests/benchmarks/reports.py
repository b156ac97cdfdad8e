"""How the parser of reports reads the answers that nano-graphrag recorded.

    PATHRAG_DATA=FOLDER python -m tests.benchmarks.reports

The set ``nano_graphrag_cache`` holds 187 answers of a language model: reports on communities, what
was extracted from texts, and two answers to questions. Each is read four times:

``recorded``   as answers of then: the prompt did not ask for key entities
``fenced``     the reports alone, each put into a code fence, as chat models do
``new``        as answers of today, whose prompt asks for key entities
``lenient``    the same, with ``--lenient``
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pathrag_gds.communities.report_parse import parse_report
from pathrag_gds.communities.types import Community, CommunityContent
from pathrag_gds.errors import GraphRAGError
from pathrag_gds.types import Edge, Entity

__all__ = ["classify", "figures", "read_answers"]

FILE = "nano_graphrag_cache/mock_cache.json.gz"
# A report is about some community; which one matters for its key entities alone.
CONTENT = CommunityContent(
    Community("0", "t", ("a", "b", "c")),
    (Entity("a", "A"), Entity("b", "B"), Entity("c", "C")),
    (Edge("ab", "a", "b", "R"), Edge("ac", "a", "c", "R")),
)
WHY = {
    "strict": "JSON by the letter with all that the schema demands",
    "fenced": "the same in a code fence, which is taken off",
    "fallback": "no JSON: the text is the summary, the first three ids are the key entities",
    "refused": "JSON that breaks the schema; asked for once more, then listed as failed",
}
SOURCES = {
    "report": "an object with title, summary, rating, its explanation and findings",
    "tuples": "entities and relationships as tuples, from the extraction",
    "prose": "an answer to a question",
}


def read_answers(data: Path) -> list[str]:
    """Read the recorded answers from the folder of data sets."""
    with gzip.open(data / FILE, "rt", encoding="utf-8") as file:
        return [entry["return"] for entry in json.load(file).values()]


def source_of(answer: str) -> str:
    """Say what an answer was given to; one of :data:`SOURCES`."""
    if answer.startswith("{"):
        return "report"
    return "tuples" if '("entity"<|>' in answer else "prose"


def classify(answers: Iterable[str], **options: Any) -> Counter[tuple[str, str, str]]:
    """Count answers by their class, what they were given to, and why they were refused."""
    found: Counter[tuple[str, str, str]] = Counter()
    for answer in answers:
        source = source_of(answer.removeprefix("```json\n"))
        try:
            report = parse_report(answer, CONTENT, **options)
        except GraphRAGError as error:
            found["refused", source, error.failures[0][1]] += 1
        else:
            found[report.form, source, ""] += 1
    return found


def figures(answers: list[str]) -> dict[str, Counter[tuple[str, str, str]]]:
    """Read the answers in each of the four ways."""
    fenced = [f"```json\n{text}\n```" for text in answers if source_of(text) == "report"]
    return {
        "recorded": classify(answers, origin="recorded"),
        "fenced": classify(fenced, origin="recorded"),
        "new": classify(answers),
        "lenient": classify(answers, lenient=True),
    }


def main() -> None:
    """Print the figures, and what each class means."""
    folder = os.environ.get("PATHRAG_DATA")
    if not folder:
        raise SystemExit("PATHRAG_DATA names no folder of data sets.")
    answers = read_answers(Path(folder))
    print(f"{len(answers)} recorded answers\n")
    for way, found in figures(answers).items():
        print(way)
        for (form, source, why), count in sorted(found.items()):
            print(f"  {form:<9}{count:>4}  {source}{': ' + why if why else ''}")
    print()
    for name, meaning in (WHY | SOURCES).items():
        print(f"{name:<9}{meaning}")


if __name__ == "__main__":
    main()
