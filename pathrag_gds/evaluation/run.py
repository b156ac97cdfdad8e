"""Ask the questions of a data set, keep a row for each, and sum them up."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pathrag_gds.config import SearchConfig
from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.diagram import reliability_svg
from pathrag_gds.evaluation.graph import reach_of
from pathrag_gds.evaluation.judge import METRICS, judge
from pathrag_gds.evaluation.metrics import (
    Bin,
    calibration,
    mean,
    mean_of,
    paired_bootstrap,
    percentile,
)
from pathrag_gds.evaluation.questions import (
    Question,
    asked_text,
    select,
    show_buckets,
    start_ids,
)
from pathrag_gds.evaluation.results import ResultsFile, read_rows
from pathrag_gds.evaluation.systems import Asked, Opponent, Ranking, Setting
from pathrag_gds.graph.queries import cypher_folder
from pathrag_gds.models.files import write_whole
from pathrag_gds.models.onnx_model import MODEL_FILE
from pathrag_gds.models.path_reranker import shipped_matcher
from pathrag_gds.retrieve.serialize import TEXT_TEMPLATE_VERSION
from pathrag_gds.types import Path as GraphPath
from pathrag_gds.version import __version__

__all__ = [
    "COMPARED",
    "METHOD",
    "Selection",
    "combine",
    "compare",
    "run_system",
    "run_without_gold",
    "versions",
    "write_summary",
]

METHOD = "path"
COMPARED = (
    *("hit@1", "hit@5", "mrr", "right", "confident_wrong"),
    *("passage_recall@5", "all_passages@8"),
)
# Changes when rows would mean something else.
ROW_VERSION = 2
_DECIMALS = 4
_THRESHOLDS = tuple(round(step * 0.05, 2) for step in range(20))

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which questions are asked, and in which split they are.

    Attributes:
        questions: In the order in which they are asked.
        buckets: Of the split.
        group: Of the data set; empty for all questions.
        apart: By other groups, the questions of the split that are counted and not asked.
    """

    questions: tuple[Question, ...]
    buckets: tuple[int, ...]
    group: str
    apart: Mapping[str, tuple[Question, ...]]

    @classmethod
    def of(
        cls,
        questions: Sequence[Question],
        *,
        buckets: Iterable[int],
        group: str = "",
        limit: int | None = None,
    ) -> Selection:
        """Choose the questions of a split; see :func:`~pathrag_gds.evaluation.questions.select`."""
        split = tuple(sorted(set(buckets)))
        chosen = select(questions, buckets=split, group=group, limit=limit)
        rest = [q for q in questions if q.bucket in split and group and group not in q.groups]
        apart: dict[str, list[Question]] = {}
        for question in rest:
            for name in question.groups:
                apart.setdefault(name, []).append(question)
        return cls(tuple(chosen), split, group, {k: tuple(v) for k, v in sorted(apart.items())})


def run_system(
    setting: Setting,
    selection: Selection,
    opponent: Opponent,
    folder: Path,
    *,
    method: str,
    resume: bool = True,
    command: str = "",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Ask a system the questions, and give the summary.

    Rows go to ``DATASET.CONDITION.METHOD.jsonl`` one by one, so that the same call goes on after
    an interrupt.

    Args:
        method: Name of the system in files and tables.
        command: The command that this is, for the summary.

    Raises:
        ConfigError: The folder holds results of another setting.
        DatabaseError: The server failed.
    """
    report = progress or (lambda done, total, what: None)
    stem = f"{setting.dataset.name}.{setting.condition}.{method}"
    path = folder / f"{stem}.jsonl"
    head = _head(setting, selection, opponent, method)
    graph = setting.dataset.graph
    with ResultsFile(path, head, resume=resume) as results:
        total = len(selection.questions)
        for done, question in enumerate(selection.questions):
            report(done, total, stem)
            if question.id in results.rows:
                continue
            asked = _asked(setting, question)
            results.add(judge(asked, opponent.rank(asked), graph, setting.config))
        rows = [results.rows[question.id] for question in selection.questions]
    return {
        **_identity(setting, selection, method),
        **_figures(rows),
        "groups": _groups(rows),
        "apart": _apart(setting, selection),
        "config": setting.config.to_dict(),
        "versions": head["versions"],
        "load_average": round(os.getloadavg()[0], 2),
        "command": command,
        "results": path.name,
    }


def _asked(setting: Setting, question: Question) -> Asked:
    text = asked_text(question, setting.condition)
    return Asked(question, text, start_ids(question, setting.condition))


def _identity(setting: Setting, selection: Selection, method: str) -> dict[str, Any]:
    return {
        "dataset": setting.dataset.name,
        "split": show_buckets(selection.buckets),
        "group": selection.group,
        "condition": setting.condition,
        "method": method,
    }


def _head(
    setting: Setting, selection: Selection, opponent: Opponent, method: str
) -> dict[str, Any]:
    """Say what makes two runs the same; the limit does not: fewer questions are the first ones."""
    head: dict[str, Any] = {
        **_identity(setting, selection, method),
        "questions": setting.dataset.digest,
        "config": setting.config.to_dict(),
        "versions": versions(setting, opponent, method),
    }
    told = json.dumps([ROW_VERSION, head], sort_keys=True, default=str)
    return {"fingerprint": hashlib.sha256(told.encode()).hexdigest()[:16], **head}


def versions(setting: Setting, opponent: Opponent, method: str) -> dict[str, Any]:
    """Tell what a row depends on beside data and configuration: program, models, server."""
    told: dict[str, Any] = {
        "pathrag-gds": __version__,
        "code": _code_digest(method),
        "python": platform.python_version(),
        "template": TEXT_TEMPLATE_VERSION,
        "encoder": f"{setting.encoder.name} {setting.encoder.fingerprint}",
        "system": f"{opponent.name} {opponent.fingerprint}",
    }
    if setting.database is not None:
        told["neo4j"] = setting.database.capabilities.version
    return told


def _code_digest(method: str) -> str:
    """Hash the code of a system: two states of a checkout are two programs.

    What changes vectors and scores changes the fingerprint of encoder or reranker instead; the
    matcher of nodes goes with every path reranker.
    """
    package = Path(__file__).parents[1]
    files = [
        package / "text.py",
        shipped_matcher() / MODEL_FILE,
        *sorted((package / "retrieve").glob("*.py")),
        *sorted((cypher_folder() / "retrieve").glob("*.cypher")),
    ]
    if method != METHOD:
        files += sorted((package / "evaluation" / "opponents").glob("*.py"))
        files += sorted((cypher_folder() / "evaluation").glob("*.cypher"))
        # The fused methods ask communities, too.
        files += [package / "answer" / name for name in ("fuse.py", "methods.py")]
        files += sorted((package / "communities").glob("*.py"))
        files += sorted((cypher_folder() / "communities").glob("*.cypher"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum rows up: means of the metrics, ceilings, losses by cause, calibration, cost."""
    lost = Counter(row["lost"] for row in rows if row.get("lost"))
    pairs = [
        (row["confidence"], row.get("right", row.get("hit@1", 0.0)))
        for row in rows
        if "confidence" in row
    ]
    return {
        "n": len(rows),
        "ceiling": _rounded(mean([float(row["reachable"]) for row in rows])),
        "ceiling_any_order": _rounded(mean([float(row["uncut"]) for row in rows])),
        "metrics": _means(rows, METRICS),
        "survival": _survival(rows),
        "lost": dict(sorted(lost.items())),
        "outcomes": _outcomes(rows),
        "calibration": calibration(pairs).to_dict(),
        "cost": {
            name: _spread([row[name] for row in rows if name in row])
            for name in ("texts_scored", "round_trips", "context_tokens")
        },
        "millis": _latency(rows),
    }


def _outcomes(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    counts = Counter(row["outcome"] for row in rows if "outcome" in row)
    return dict(sorted(counts.items()))


def _means(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, float]:
    means = {name: mean_of(rows, name) for name in names}
    return {name: round(value, _DECIMALS) for name, value in means.items() if value is not None}


def _survival(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Give per depth the share of questions whose gold path got so far, of those that go so far."""
    tracks = [row["survival"] for row in rows if row.get("survival")]
    depths = range(max(map(len, tracks), default=0))
    shares = [mean([float(track[d]) for track in tracks if d < len(track)]) for d in depths]
    return [round(share, _DECIMALS) for share in shares if share is not None]


def _latency(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    stages = sorted({stage for row in rows for stage in row["millis"]})
    return {
        stage: _spread([row["millis"][stage] for row in rows if stage in row["millis"]])
        for stage in stages
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    return {
        "mean": round(sum(values) / len(values), 3),
        "p50": percentile(values, 0.5),
        "p95": percentile(values, 0.95),
    }


def _groups(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    names = sorted({name for row in rows for name in row["groups"]})
    parts = {name: [row for row in rows if name in row["groups"]] for name in names}
    return {
        name: {
            "n": len(part),
            "ceiling": _rounded(mean([float(row["reachable"]) for row in part])),
            "metrics": _means(part, (*COMPARED, "right_path@1", "path_recall@5")),
            "outcomes": _outcomes(part),
        }
        for name, part in parts.items()
    }


def _apart(setting: Setting, selection: Selection) -> dict[str, dict[str, Any]]:
    """Count the questions of the split that were not asked, with their ceiling."""
    graph = setting.dataset.graph
    told = {}
    for name, questions in selection.apart.items():
        reached = [
            reach_of(q, graph.gold_paths(q), graph, setting.config).reachable for q in questions
        ]
        ceiling = _rounded(mean([float(value) for value in reached]))
        told[name] = {"n": len(questions), "ceiling": ceiling}
    return told


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def combine(
    name: str, summaries: Sequence[Mapping[str, Any]], folder: Path
) -> list[dict[str, Any]]:
    """Sum up the parts of a set as if it were one, a summary for each condition and method.

    Args:
        name: Of the whole.
        summaries: Of the parts, as :func:`run_system` gave them.
        folder: Where the rows of the parts are.

    Raises:
        LoadError: A file of rows is not there.
    """
    parts: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for summary in summaries:
        parts.setdefault((summary["condition"], summary["method"]), []).append(summary)
    combined = []
    for same in parts.values():
        files = [summary["results"] for summary in same]
        rows = [row for summary in same for row in _rows_of(summary, folder)]
        whole = {**same[0], "dataset": name, **_figures(rows), "groups": _groups(rows)}
        for key in ("results", "apart", "gold_hidden"):
            whole.pop(key, None)
        combined.append({**whole, "parts": files})
    return combined


def _rows_of(summary: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Give the rows that a summary adds up; a run of more questions may have left others behind."""
    _, rows = read_rows(folder / summary["results"])
    return list(rows.values())[: summary["n"]]


def write_summary(folder: Path, summary: Mapping[str, Any]) -> Path:
    """Write a summary beside its rows, and its reliability diagram; give the summary's path."""
    stem = "{dataset}.{condition}.{method}".format_map(summary)
    path = folder / f"{stem}.json"
    text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
    write_whole(path, text.encode())
    if bins := summary["calibration"]["bins"]:
        title = f"{summary['dataset']}, {summary['condition']}, {summary['method']}"
        picture = reliability_svg([Bin(**one) for one in bins], title)
        write_whole(path.with_suffix(".svg"), picture.encode())
    return path


# Without the gold


def run_without_gold(
    setting: Setting,
    selection: Selection,
    make: Callable[[Setting], Opponent],
    folder: Path,
    *,
    method: str,
    resume: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Ask each question with the relationships of its gold paths hidden from the search.

    Nothing is deleted: a filter hides them, and every other relationship between the same two
    entities with them, for it may state the same fact. :func:`run_system` comes first: its rows
    tell what happens to the same questions with the gold there.

    Returns:
        ``n``; ``not_in_graph``: the share with that outcome; ``lost``: the share of the same
        questions with that outcome although the gold was there. ``thresholds``: for values of
        ``min_score`` from the run's own on (nothing is known below it) the share ``unanswered``
        with the gold hidden, ``lost`` with the gold there, and ``lost_right``: of those whose first
        answer is right. Questions without gold paths are left out; without any, ``n`` is 0.
    """
    report = progress or (lambda done, total, what: None)
    graph = setting.dataset.graph
    stem = f"{setting.dataset.name}.{setting.condition}.{method}"
    _, known = read_rows(folder / f"{stem}.jsonl")
    usable = [q for q in selection.questions if graph.gold_paths(q)]
    plain = make(setting)
    head = _head(setting, selection, plain, f"{method}, gold hidden")
    pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    with ResultsFile(folder / f"{stem}.hidden.jsonl", head, resume=resume) as results:
        for done, question in enumerate(usable):
            report(done, len(usable), f"{stem}, gold hidden")
            if question.id not in results.rows:
                keys = _gold_keys(setting, graph.gold_paths(question))
                hidden = replace(setting, config=_hiding(setting.config, keys))
                ranking = make(hidden).rank(_asked(setting, question))
                results.add(_hidden_row(question, ranking))
            pairs.append((results.rows[question.id], known[question.id]))
    least = setting.config.min_score
    return {
        "n": len(pairs),
        "not_in_graph": _share(gone.get("outcome") == "not_in_graph" for gone, _ in pairs),
        "lost": _share(there.get("outcome") == "not_in_graph" for _, there in pairs),
        "thresholds": [
            _at_threshold(pairs, threshold)
            for threshold in (least, *(t for t in _THRESHOLDS if t > least))
        ],
    }


def _hidden_row(question: Question, ranking: Ranking) -> dict[str, Any]:
    row: dict[str, Any] = {"id": question.id}
    if ranking.confidence is not None:
        row["confidence"] = ranking.confidence
    if ranking.explanation is not None:
        row["outcome"] = ranking.explanation.result.outcome
    return row


def _at_threshold(
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], threshold: float
) -> dict[str, float | None]:
    def silent(row: Mapping[str, Any]) -> bool:
        return "confidence" not in row or row["confidence"] < threshold

    return {
        "min_score": threshold,
        "unanswered": _share(silent(gone) for gone, _ in pairs),
        "lost": _share(silent(there) for _, there in pairs),
        "lost_right": _share(silent(there) for _, there in pairs if there["hit@1"]),
    }


def _share(values: Iterable[bool]) -> float | None:
    return _rounded(mean([float(value) for value in values]))


def _gold_keys(setting: Setting, gold: Sequence[GraphPath]) -> list[str]:
    graph = setting.dataset.graph
    ends = {frozenset((hop.head, hop.tail)) for path in gold for hop in path.hops}
    nodes = {hop.head for path in gold for hop in path.hops}
    return sorted(
        {
            hop.edge.key
            for node in nodes
            for hop in graph.neighbours(node)
            if frozenset((hop.head, hop.tail)) in ends
        }
    )


def _hiding(config: SearchConfig, keys: Sequence[str]) -> SearchConfig:
    hidden = {"key": {"$nin": list(keys)}}
    known = config.relationship_filter
    return config.with_(relationship_filter={"$and": [known, hidden]} if known else hidden)


# Two runs


def compare(first: Path, second: Path, *, seed: int = 0) -> dict[str, Any]:
    """Compare two results files over the questions that both have.

    Returns:
        ``n``, and for each of :data:`COMPARED`, over the questions that have it, both means, their
        difference (second minus first) and its 95 % interval by a paired bootstrap of 10,000
        resamples.

    Raises:
        ConfigError: They have no question in common.
        LoadError: A file is no results file.
    """
    (head, one), (other_head, other) = read_rows(first), read_rows(second)
    common = sorted(one.keys() & other.keys())
    if not common:
        raise ConfigError(
            f"{first} and {second} have no question in common.",
            hint="Compare two runs of the same data set and split.",
        )
    told: dict[str, Any] = {
        "first": _named(first, head),
        "second": _named(second, other_head),
        "n": len(common),
        "metrics": {},
    }
    for name in COMPARED:
        both = [id_ for id_ in common if name in one[id_] and name in other[id_]]
        if not both:
            continue
        interval = paired_bootstrap(
            [one[id_][name] for id_ in both], [other[id_][name] for id_ in both], seed=seed
        )
        told["metrics"][name] = {
            "first": round(interval.first, _DECIMALS),
            "second": round(interval.second, _DECIMALS),
            "difference": round(interval.difference, _DECIMALS),
            "low": round(interval.low, _DECIMALS),
            "high": round(interval.high, _DECIMALS),
        }
    return told


def _named(path: Path, head: Mapping[str, Any]) -> dict[str, Any]:
    names = ("dataset", "split", "condition", "method")
    return {"file": str(path), **{name: head.get(name, "") for name in names}}
