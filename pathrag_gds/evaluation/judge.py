"""Compare what a system answered with what is right: one row per question. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pathrag_gds.config import SearchConfig
from pathrag_gds.evaluation.graph import Graph, reach_of
from pathrag_gds.evaluation.metrics import (
    cause_of_loss,
    exact_set,
    hit_at,
    node_recall_at,
    path_recall_at,
    recall_at,
    reciprocal_rank,
    set_f1,
    survival,
)
from pathrag_gds.evaluation.probe import judge_probe
from pathrag_gds.evaluation.questions import AnswerKey, Question
from pathrag_gds.evaluation.systems import Asked, Ranking
from pathrag_gds.types import DepthTrace, Explanation, Path

__all__ = ["METRICS", "judge"]

DEPTHS_OF_RECALL = (1, 5, 20)
_SHOWN_ANSWERS = 10

METRICS = (
    "hit@1",
    "hit@5",
    "mrr",
    "f1",
    "exact_set",
    "answered",
    *(f"path_recall@{k}" for k in DEPTHS_OF_RECALL),
    *(f"node_recall@{k}" for k in DEPTHS_OF_RECALL),
    "anchor_recall",
    "passage_recall@5",
    "all_passages@8",
    "right_path@1",
    "right",
    "confident_wrong",
)
"""Columns of a row that are averaged."""


def judge(asked: Asked, ranking: Ranking, graph: Graph, config: SearchConfig) -> dict[str, Any]:
    """Tell how one question went; figures that it cannot have are left out.

    Args:
        graph: What was searched, for gold paths and for what could be found at all.
        config: How it was searched.
    """
    question = asked.question
    gold = graph.gold_paths(question)
    reach = reach_of(question, gold, graph, config)
    answers = list(ranking.answers)
    predicted = frozenset(answers[:1]) if ranking.predicted is None else ranking.predicted
    row: dict[str, Any] = {
        "id": question.id,
        "text": asked.text,
        "groups": list(question.groups),
        "answered": float(bool(answers)),
        "reachable": reach.reachable,
        "uncut": reach.uncut,
        "answers": [list(answer) for answer in answers[:_SHOWN_ANSWERS]],
        "confidence": ranking.confidence,
        "texts_scored": ranking.texts_scored,
        "round_trips": ranking.round_trips,
        "context_tokens": ranking.context_tokens,
        "millis": dict(ranking.millis),
    }
    if question.answers:
        row |= _of_answers(answers, predicted, question.answers)
    if ranking.candidates_right:
        row["right_path@1"] = float(ranking.candidates_right[0])
    if ranking.passages is not None and question.passages:
        row |= _of_passages(ranking.passages, question.passages)
    if ranking.explanation is not None:
        row |= _of_search(asked, gold, ranking.explanation)
        if question.probe is not None:
            row |= judge_probe(question.probe, ranking.explanation.result, predicted)
        if row.get("hit@1") == 0.0:
            trace = ranking.explanation.depths
            row["lost"] = cause_of_loss(
                gold or _ways(question, trace, graph, config),
                trace,
                answers=question.entities,
                reachable=reach.reachable,
                topics_known=bool(question.topics),
            )
    return {key: value for key, value in row.items() if value is not None}


def _of_answers(
    answers: Sequence[AnswerKey], predicted: Collection[AnswerKey], gold: Collection[AnswerKey]
) -> dict[str, float]:
    """Compare entities and properties; a number or a truth value is nothing of the graph."""
    return {
        "hit@1": hit_at(answers, gold, 1),
        "hit@5": hit_at(answers, gold, 5),
        "mrr": round(reciprocal_rank(answers, gold), 6),
        "f1": round(set_f1(predicted, gold), 6),
        "exact_set": exact_set(predicted, gold),
    }


def _ways(
    question: Question, trace: Sequence[DepthTrace], graph: Graph, config: SearchConfig
) -> tuple[Path, ...]:
    """Give the shortest ways from the starts to the answers, where no gold path is known."""
    starts = [traced.path.start for level in trace[:1] for traced in level.paths]
    return graph.shortest_paths(starts, question.entities, config.max_depth)


def _of_search(asked: Asked, gold: Sequence[Path], explanation: Explanation) -> dict[str, Any]:
    question, result = asked.question, explanation.result
    paths = [ranked.path for ranked in result.paths]
    row: dict[str, Any] = {"outcome": result.outcome}
    for k in DEPTHS_OF_RECALL:
        row[f"path_recall@{k}"] = _rounded(path_recall_at(paths, gold, k))
        row[f"node_recall@{k}"] = _rounded(node_recall_at(paths, gold, k))
    if gold:
        row["survival"] = list(survival(gold, explanation.depths))
    if question.topics:
        anchors = [anchor.id for anchor in result.anchors]
        row["anchor_recall"] = _rounded(
            recall_at(anchors, question.topics, max(len(anchors), len(question.topics)))
        )
    if question.passages:
        row |= _of_passages(_passages(explanation), question.passages)
    return row


def _of_passages(found: Sequence[str], gold: Collection[str]) -> dict[str, float | None]:
    """Compare passages; all of the gold among eight is what fast-graphrag's benchmark counts."""
    return {
        "passage_recall@5": _rounded(recall_at(found, gold, 5)),
        "all_passages@8": float(recall_at(found, gold, 8) == 1.0),
    }


def _passages(explanation: Explanation) -> list[str]:
    """List the chunks that the paths were read from, best path first."""
    found: dict[str, None] = {}
    for ranked in explanation.result.paths:
        for hop in ranked.hops:
            found.update(dict.fromkeys(source.chunk for source in hop.sources))
        if not ranked.hops:
            found.update(dict.fromkeys(ranked.nodes[0].chunk_ids))
    return list(found)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
