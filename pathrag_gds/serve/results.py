"""Results as text: answers, paths with arrows, what was cut, what was checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pathrag_gds.serve.terminal import MIN_WIDTH, plain, show_table, show_wrapped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from pathrag_gds.answer.generate import GeneratedAnswer
    from pathrag_gds.answer.prompt import PathPrompt
    from pathrag_gds.graph.schema import Ontology
    from pathrag_gds.serve.checks import Check
    from pathrag_gds.serve.demo import DemoReport
    from pathrag_gds.types import Answer, Entity, Explanation, Path, RankedPath, SearchResult

__all__ = [
    "CUT_REASONS",
    "answer_text",
    "left_out",
    "node_facts",
    "nothing_passes",
    "prompt_summary",
    "properties_text",
    "shape_text",
    "show_checks",
    "show_citations",
    "show_demo",
    "show_explanation",
    "show_ontology",
    "show_result",
    "sources_text",
]

_ARROWS = {True: (" —[", "]→ ", " ←[", "]— "), False: (" -[", "]-> ", " <-[", "]- ")}
CUT_REASONS = {
    "byte_cap": "not read, beyond --max-bytes",
    "beam_width": "ranked below --beam-width",
    "duplicate": "found already, by another way",
    "min_prefix": "lead on less surely than --min-prefix",
    "expand_per_path": "extensions of a path beyond --expand-per-path",
    "flow_nodes": "nodes whose surroundings were not read",
    "flow_paths": "less reliable by flow, beyond --flow-paths",
    "rerank_limit": "not scored, beyond --rerank-limit",
    "revisit": "would go back (--revisit)",
    "row_cap": "not read, beyond --max-rows",
    "time_limit": "not scored within --time-limit-s",
}
# What is decided only when the search ends, in the order in which it is told.
_LEFT_OUT = {
    "no_meeting": "chains of several names that meet nowhere",
    "min_score": "below --min-score",
    "top_k": "beyond --top-k",
    "time_limit": "not scored within --time-limit-s",
}
# Answers of a complete set that are printed; --json has them all.
_SHOWN_ANSWERS = 20
_NOT_IN_PROMPT = {
    "budget": "beyond --budget",
    "chunk_budget": "beyond --chunk-budget",
    "no_text": "without a text in the graph",
    "too_far": "of too many",
}
_STATES = {"ok": "green", "note": "cyan", "todo": "bold yellow", "failed": "bold red"}


def show_result(out: Console, result: SearchResult) -> None:
    """Print the answers, one group of lines per path, and what it cost."""
    _show_answers(out, result)
    for path in result.paths:
        _show_path(out, path)
    _show_cost(out, result)


def show_explanation(out: Console, explanation: Explanation, *, rows: int = 5) -> None:
    """Print how the paths were found: anchors, seeds, what was cut where and why; then the result.

    A seed is an entity that the question's words or meaning lead to; an anchor is one that the
    question names.

    Args:
        rows: Kept and cut paths shown per depth, and seeds; 0 for all.
    """

    result = explanation.result
    names = {node: name for depth in explanation.depths for node, name in depth.names.items()}
    if shape := shape_text(result.shape):
        out.print("Shape: what the question asks for", style="bold")
        show_wrapped(out, shape, "  ")
        out.print()
    out.print("Anchors: entities that the question names", style="bold")
    show_table(
        out,
        ("mention", "entity", "id", "score"),
        [(a.mention, a.name, a.id, f"{a.score:.3f}") for a in result.anchors],
        empty="none, so paths start at the seeds",
    )
    seeds = result.seeds[: rows or None]
    out.print(
        f"Seeds: entities that its words and meaning lead to ({len(seeds)} of {len(result.seeds)})",
        style="bold",
    )
    show_table(
        out,
        ("entity", "id", "similarity", "fused"),
        [(names.get(s.id, ""), s.id, f"{s.similarity:.3f}", f"{s.fused:.4f}") for s in seeds],
    )
    if result.stats.strategy:
        told = f"Strategy: {result.stats.strategy} ({result.stats.strategy_reason})"
        show_wrapped(out, plain(told), "")
        out.print()
    for depth in explanation.depths:
        kept = [p for p in depth.paths if not p.reason]
        cut = [p for p in depth.paths if p.reason]
        out.print(f"Depth {depth.depth}: {len(kept)} kept", style="bold")
        for c in depth.cut:
            show_wrapped(out, f"cut: {c.count} {CUT_REASONS.get(c.reason, c.reason)}", "  ")
        if depth.truncated:
            capped = ", ".join(map(plain, depth.truncated))
            show_wrapped(out, f"not all relationships read: {capped}", "  ")
        for mark, paths in (("kept", kept), ("cut ", cut)):
            for traced in paths[: rows or None]:
                head = f"  {mark} {traced.steer:6.3f}  "
                lines = _path_lines(
                    out, traced.path, depth.names, max(out.width - len(head), MIN_WIDTH)
                )
                _show_lines(out, head, lines)
        out.print()
    out.print("Result", style="bold")
    if told := left_out(result):
        show_wrapped(out, f"left out: {told}", "")
        out.print()
    if joined := meetings(result):
        for line in joined:
            show_wrapped(out, line, "")
        out.print()
    show_result(out, result)


def shape_text(shape: Mapping[str, Any]) -> str:
    """Say what a question asks for, in one line; empty where that was not looked for.

    ``count; noun: films; time: from 1991-01-01``.
    """
    told = [str(shape["kind"])] if shape else []
    for key, value in shape.items():
        if key == "time":
            bounds = (("from", value["start"]), ("before", value["end"]))
            value = " ".join(f"{word} {day}" for word, day in bounds if day)
        elif isinstance(value, list):
            value = ", ".join(
                "/".join(map(str, v)) if isinstance(v, list) else str(v) for v in value
            )
        if key not in ("kind", "larger"):
            told.append(f"{key.replace('_', ' ')}: {value}" if value is not True else key)
    return plain("; ".join(told))


def meetings(result: SearchResult) -> list[str]:
    """Say where chains of several names meet, best first, a line for each conjunction."""
    return [
        f"joined: {plain(pattern.text)} "
        + ("not counted" if pattern.total is None else f"{pattern.total:,} in the graph")
        for pattern in result.patterns
        if len(pattern.chains) > 1
    ]


def left_out(result: SearchResult) -> str:
    """Say how many paths were left out when the search ended, and why; empty where none was."""
    counts = {
        reason: sum(cut.count for cut in result.cut if cut.reason == reason) for reason in _LEFT_OUT
    }
    return ", ".join(
        f"{counts[reason]} {told}" for reason, told in _LEFT_OUT.items() if counts[reason]
    )


def prompt_summary(prompt: PathPrompt) -> str:
    """Say what a prompt takes, what it holds and what it does without, a line each."""
    held = _counted(len(prompt.paths), "path")
    if prompt.chunks:
        held += f" and {_counted(len(prompt.chunks), 'passage')} ({prompt.chunk_tokens} of them)"
    lines = [f"{_counted(prompt.tokens, 'token')}: {held}."]
    if prompt.shortened:
        lines.append("What the nodes of the best path tell was shortened to fit into --budget.")
    # Counter keeps the order in which it first met them: paths, then chunks, the best first.
    left = Counter((left.kind, left.reason) for left in prompt.left_out)
    if left:
        told = [f"{_counted(n, kind)} {_NOT_IN_PROMPT[why]}" for (kind, why), n in left.items()]
        lines.append(f"Left out: {', '.join(told)}.")
    return "\n".join(lines)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def show_citations(out: Console, answer: GeneratedAnswer) -> None:
    """Print what stands under an answer: the paths that it cites, and its sentences without one."""
    out.print()
    if not answer.model:
        show_wrapped(out, nothing_passes(answer.result), "")
        out.print('See why: pathrag explain "…"', style="dim")
        return
    for path in answer.cited:
        _show_path(out, path)
    for sentence in answer.uncited:
        show_wrapped(out, f"cites no path: {plain(sentence)}", "", style="yellow")
    used = _counted(answer.prompt.tokens, "token")
    asked = _counted(len(answer.prompt.paths), "path")
    out.print(f"{plain(answer.model)} read {asked} in a prompt of {used}", style="dim")


def show_demo(out: Console, report: DemoReport) -> None:
    """Print what was done and how long each step took, the result, and what to type next."""
    show_table(
        out,
        ("step", "what was done", "time"),
        [(s.name, s.detail, f"{s.millis / 1000:.2f} s") for s in report.steps],
    )
    out.print(plain(report.result.question), style="bold")
    out.print()
    show_result(out, report.result)
    out.print()
    out.print("Next:")
    for command in report.next:
        out.print(f"  {command}", soft_wrap=True)


def show_ontology(out: Console, ontology: Ontology) -> None:
    """Print the types of a tenant's graph: its relationships, then its entities."""
    out.print(f"Relationship types of tenant {plain(ontology.tenant)}", style="bold")
    show_table(
        out,
        ("type", "from", "to", "count", "most out", "most in"),
        [
            (t.name, ", ".join(t.domains), ", ".join(t.ranges), t.count, t.max_out, t.max_in)
            for t in ontology.relation_types
        ],
    )
    out.print("Entity types", style="bold")
    show_table(
        out,
        ("type", "count", "properties"),
        [(t.name, t.count, ", ".join(t.properties)) for t in ontology.entity_types],
    )


def show_checks(out: Console, checks: Iterable[Check]) -> None:
    """Print what the doctor found, and under it what to do."""
    from rich.text import Text

    checks = tuple(checks)
    width = max(len(check.name) for check in checks)
    for check in checks:
        head = Text.assemble(
            (f"{check.state:<6}  ", _STATES[check.state]), f"{plain(check.name):<{width}}  "
        )
        indent = " " * head.cell_len
        out.print(head.append(plain(check.found)), soft_wrap=True)
        for line in check.todo.splitlines():
            out.print(Text(f"{indent}→ {plain(line)}", style="bold"), soft_wrap=True)


def _show_answers(out: Console, result: SearchResult) -> None:
    from rich.text import Text

    if result.outcome == "partial" and result.config.get("time_limit_s") is not None:
        out.print("Stopped at the time limit. This is the best so far.", style="yellow")
    if not result.answers:
        show_wrapped(out, nothing_passes(result), "")
        out.print('See why: pathrag explain "…"', style="dim")
        out.print()
        return
    for number, answer in enumerate(result.answers[:_SHOWN_ANSWERS]):
        head = "Answer  " if number == 0 else "   also "
        style = "bold green" if number == 0 else ""
        paths = ", ".join(f"{rank}" for rank in answer.paths)
        where = f"  (confidence {answer.confidence:.2f}{f'; path {paths}' if paths else ''})"
        line = Text.assemble((answer_text(answer), style), (where, "dim"))
        pieces = list(line.wrap(out, max(out.width - len(head), MIN_WIDTH)))
        for piece in pieces:
            piece.rstrip()
        _show_lines(out, head, pieces)
    more = len(result.answers) - _SHOWN_ANSWERS
    if more > 0:
        out.print(f"   and {more:,} more: --json lists them all", style="dim")
    out.print()


def nothing_passes(result: SearchResult) -> str:
    """Say that a result without an answer has none."""
    if result.outcome in ("partial", "unsupported") and result.paths:
        return "No answer as it is asked; these paths are what the graph says of it."
    if result.outcome == "unsupported":
        return "No answer as it is asked."
    limit = result.config.get("min_score", 0)
    return (
        f"No path of tenant {plain(result.tenant)} answers this with a confidence of {limit} "
        "or more."
    )


def answer_text(answer: Answer) -> str:
    """Say what an answer is: a name, or a property of one and its value."""
    if answer.kind == "entity":
        return plain(answer.name)
    if answer.kind == "boolean":
        return "yes" if answer.value else "no"
    if answer.property:
        return plain(f"{answer.property} of {answer.name}: {_value(answer.value)}")
    return plain(answer.name if answer.value is None else _value(answer.value))


def _show_path(out: Console, ranked: RankedPath) -> None:
    head = f"{ranked.rank}  {ranked.score:.3f}  "
    indent = " " * len(head)
    names = {node.id: node.name for node in ranked.nodes}
    _show_lines(
        out, head, _path_lines(out, ranked.path, names, max(out.width - len(head), MIN_WIDTH))
    )
    if not ranked.path.hops:
        show_wrapped(out, node_facts(ranked.nodes[0]), indent)
    sources = sources_text(ranked)
    if sources:
        show_wrapped(out, f"source: {sources}", indent, style="dim")
    out.print()


def _show_lines(out: Console, head: str, lines: Sequence[Text]) -> None:
    from rich.text import Text

    for number, line in enumerate(lines):
        start = Text(head if number == 0 else " " * len(head), style="dim")
        out.print(start.append_text(line), soft_wrap=True)


def _path_lines(out: Console, path: Path, names: Mapping[str, str], width: int) -> list[Text]:
    """Break a path before its arrows where it is too long for one line; no word is cut."""
    from rich.text import Text

    forward, forward_end, backward, backward_end = _ARROWS[_speaks_unicode(out)]
    lines = [Text(plain(names[path.start]), style="bold")]
    for step, hop in enumerate(path.hops, start=1):
        told = plain(hop.edge.type) + properties_text(hop.edge.properties)
        arrow = (
            f"{forward}{told}{forward_end}" if hop.forward else f"{backward}{told}{backward_end}"
        )
        style = "bold green" if step == path.depth else "bold"
        end = Text(plain(names[hop.tail]), style=style)
        whole = Text.assemble((arrow, "cyan"), end)
        if lines[-1].cell_len + whole.cell_len <= width:
            lines[-1].append_text(whole)
        elif whole.cell_len - 1 <= width:
            lines.append(Text.assemble((arrow.lstrip(), "cyan"), end))
        else:
            pieces = Text(arrow.strip(), style="cyan").wrap(out, width)
            fits = pieces[-1].cell_len + 1 + end.cell_len <= width
            lines += [*pieces[:-1], Text.assemble(pieces[-1], " ", end)] if fits else [*pieces, end]
    return lines


def node_facts(node: Entity) -> str:
    """Say what a node tells: labels, description, properties; empty where it has nothing."""
    labels = ", ".join(node.labels)
    kind = f"({labels}) " if labels else ""
    facts = properties_text({k: v for k, v in node.properties.items() if k != "aliases"}).strip()
    return plain(" ".join(f"{kind}{node.description} {facts}".split()))


def properties_text(properties: Mapping[str, Any]) -> str:
    """Write properties in braces after a space, in order of their keys; empty where none is."""
    told = ", ".join(f"{plain(k)}: {_value(v)}" for k, v in sorted(properties.items()))
    return f" {{{told}}}" if told else ""


def _value(value: object) -> str:
    if isinstance(value, str):
        return plain(value)
    return plain(json.dumps(value, ensure_ascii=False, default=str))


def sources_text(ranked: RankedPath) -> str:
    """Say which documents and chunks a path was read from; empty where that is not known."""
    chunks: dict[str, list[str]] = {}
    for hop in ranked.hops:
        for source in hop.sources:
            found = chunks.setdefault(source.document, [])
            if source.chunk not in found:
                found.append(source.chunk)
    if not ranked.hops and ranked.nodes[0].chunk_ids:
        chunks[""] = list(ranked.nodes[0].chunk_ids)
    return "; ".join(
        f"{plain(document)} ({', '.join(map(plain, ids))})"
        if document
        else ", ".join(map(plain, ids))
        for document, ids in chunks.items()
    )


def _show_cost(out: Console, result: SearchResult) -> None:
    stats = result.stats
    cached = f" ({stats.cache_hits} cached)" if stats.cache_hits else ""
    total = stats.millis.get("total")
    time = f", {total / 1000:.2f} s" if total is not None else ""
    out.print(
        f"depth {stats.depth}, {stats.round_trips} round trips, {stats.candidates} paths, "
        f"{stats.texts_scored} texts scored{cached}{time}",
        style="dim",
    )


def _speaks_unicode(out: Console) -> bool:
    return out.encoding.lower().replace("-", "").startswith("utf")
