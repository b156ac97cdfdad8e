"""An explanation as one page of HTML that needs nothing else: no network, no script. Pure.

Everything from the graph and the question is shown as data; what it holds of markup is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pathrag_gds.serve.paths_svg import MAX_NEIGHBOURS, MAX_NODES, Drawing, draw_paths, html_text
from pathrag_gds.serve.results import (
    CUT_REASONS,
    answer_text,
    left_out,
    node_facts,
    nothing_passes,
    properties_text,
    sources_text,
)
from pathrag_gds.version import __version__

if TYPE_CHECKING:
    from pathrag_gds.types import (
        Answer,
        Chain,
        DepthTrace,
        Explanation,
        Outcome,
        Path,
        Pattern,
        RankedPath,
        SearchResult,
        TracedPath,
    )

__all__ = ["explanation_html"]

# A browser then loads and runs nothing, whatever the page should come to hold.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_OUTCOMES: dict[Outcome, str] = {
    "answered": "Answered.",
    "partial": "Stopped at the time limit. This is the best so far.",
    "not_in_graph": "The graph does not say.",
    "unsupported": "Questions of this kind are not answered; these paths bear on it.",
}
_TERMS = {
    "rerank": "how well the reranker finds that the path answers the question, from 0 to 1",
    "similarity": "by how much what a node tells is nearer to the question than its like, "
    "from -1 to 1",
    "type": "by how much the path's end fits the type that is asked for more than other ends",
    "link": "how surely the path's start was linked to the question, from 0 to 1",
    "flow": "how much of what flows from the start the path's nodes get, from 0 to 1",
    "coverage": "the share of the question's words, names apart, that the path's text has, from 0 "
    "to 1",
    "relation_prior": "how much of the wording of its relationships the question has, the mean of "
    "its hops, from 0 to 1",
}
_STYLE = """
:root { color-scheme: light dark; --bg: #ffffff; --fg: #1c1e21; --dim: #5c6370; --line: #d5d9e0;
  --box: #f4f6f9; --arrow: #7a8494; --best: #0b57c2; --start: #0b57c2; --answer: #16783a;
  --warn: #9a5b00; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171c; --fg: #e6e8eb; --dim: #9aa3b2;
  --line: #363c47; --box: #1f242c; --arrow: #8a94a5; --best: #7db4ff; --start: #7db4ff;
  --answer: #65cf8d; --warn: #f0b45a; } }
body { margin: 0 auto; padding: 1.5rem; max-width: 80rem; background: var(--bg); color: var(--fg);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; } p { margin: .25rem 0; }
.dim { color: var(--dim); } .warn { color: var(--warn); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .2rem .9rem .2rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
th { color: var(--dim); font-weight: normal; white-space: nowrap; }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.relation { color: var(--best); } .node-name { font-weight: 600; }
.answer-name { color: var(--answer); font-weight: 600; }
pre { background: var(--box); padding: .6rem .8rem; border-radius: 6px; font-size: 13px; }
details { margin: .5rem 0; } summary { cursor: pointer; }
a { color: var(--best); }
svg { font-family: system-ui, sans-serif; font-size: 12px; max-width: 100%; height: auto; }
svg text { fill: var(--fg); } svg .hops, svg .role, svg .more { fill: var(--dim); font-size: 11px; }
svg .name { font-size: 13px; font-weight: 600; }
svg .label { paint-order: stroke; stroke: var(--bg); stroke-width: 8px; stroke-linejoin: round; }
svg .arrow { fill: none; stroke: var(--arrow); stroke-width: 1.4; }
svg .arrow.best { stroke: var(--best); stroke-width: 2.4; }
svg .head { fill: var(--arrow); fill: context-stroke; }
svg rect { fill: var(--box); stroke: var(--arrow); }
svg .start rect { stroke: var(--start); stroke-width: 2; stroke-dasharray: 6 3; }
svg .answer rect { stroke: var(--answer); stroke-width: 2.5; stroke-dasharray: none; }
"""


def explanation_html(explanation: Explanation, *, rows: int = 5) -> str:
    """Write how the paths were found as a page for a browser.

    It tells the question, the outcome and the answers; the paths as one graph; the queries behind
    the answers; the paths one by one, with the terms of their scores; anchors and seeds; and at
    each depth what was kept, what was cut and why. Times are left out, so that the same search
    gives the same page.

    Args:
        explanation: Of :meth:`pathrag_gds.PathRAG.explain`.
        rows: Seeds, and paths kept and paths cut for one reason, shown per depth; 0 for all.

    Returns:
        A whole document, to be stored as UTF-8.

    Raises:
        ValueError: ``rows`` is negative.
    """
    if rows < 0:
        raise ValueError(f"rows is {rows}, but must be 0 or more")
    result = explanation.result
    question = html_text(result.question)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{question}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        "<header>",
        f'<h1 dir="auto">{question}</h1>',
        f'<p class="dim">tenant {html_text(result.tenant)}, method {html_text(result.method)}</p>',
        *(f'<p class="warn">Warning: {html_text(warning)}</p>' for warning in result.warnings),
        "</header>",
        "<main>",
        *_answers(result),
        *_graph(result),
        *_patterns(result),
        *_paths(result),
        *_starts(explanation, rows),
        *_depths(explanation.depths, rows),
        *_end(result),
        "</main>",
        f'<footer><p class="dim">pathrag {html_text(__version__)}</p></footer>',
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _answers(result: SearchResult) -> list[str]:
    lines = [
        '<section id="answers">',
        "<h2>Answers</h2>",
        f'<p id="outcome">{_OUTCOMES[result.outcome]}</p>',
    ]
    if result.answers:
        cells = [
            (
                f'<span class="answer-name">{_isolated(answer_text(answer))}</span>',
                _number(f"{answer.confidence:.2f}"),
                _ranks(answer),
            )
            for answer in result.answers
        ]
        lines += _table(("answer", "confidence", "paths"), cells)
    else:
        lines.append(f"<p>{html_text(nothing_passes(result))}</p>")
    return [*lines, "</section>"]


def _ranks(answer: Answer) -> str:
    return ", ".join(f'<a href="#path-{rank}">{rank}</a>' for rank in answer.paths)


def _graph(result: SearchResult) -> list[str]:
    """Draw the paths; nothing where there is none."""
    if not result.paths:
        return []
    roles = {seed.id: "seed" for seed in result.seeds}
    roles |= {anchor.id: "anchor" for anchor in result.anchors}
    starts = {ranked.path.start for ranked in result.paths}
    drawing = draw_paths(
        result.paths,
        # A seed that no path starts from is a node like others.
        roles={n: role for n, role in roles.items() if n in starts or role == "anchor"},
        answers={answer.id for answer in result.answers},
    )
    return [
        '<section id="graph">',
        "<h2>The paths as a graph</h2>",
        '<p class="dim">Columns are hops from where the paths start (dashed). Arrows point as the '
        "relationships are stored; the best path is bold, answers have a thick border.</p>",
        *(f"<p>{line}</p>" for line in _not_drawn(drawing)),
        f'<div class="wide">{drawing.svg}</div>',
        "</section>",
    ]


def _not_drawn(drawing: Drawing) -> list[str]:
    if not drawing.left_out:
        return []
    whole = len(drawing.drawn) + len(drawing.left_out)
    return [
        f"{len(drawing.drawn)} of {whole} paths are drawn, the best first: at most "
        f"{MAX_NEIGHBOURS} neighbours of a node and {MAX_NODES} nodes. All are listed below.",
        *(
            f"{_isolated(name)} has {count:,} more neighbours on paths that are not drawn."
            for name, count in drawing.hidden
        ),
    ]


def _patterns(result: SearchResult) -> list[str]:
    """Write the queries that give all answers of one kind; nothing where there is none."""
    if not result.patterns:
        return []
    return [
        '<section id="patterns">',
        "<h2>The queries behind the answers</h2>",
        '<p class="dim">Each gives all answers of one kind. It only reads.</p>',
        *(
            line
            for number, pattern in enumerate(result.patterns)
            for line in _pattern(pattern, _given_by(result, number))
        ),
        "</section>",
    ]


def _given_by(result: SearchResult, number: int) -> int:
    return sum(answer.pattern == number for answer in result.answers)


def _pattern(pattern: Pattern, given: int) -> list[str]:
    of = "an unknown number" if pattern.total is None else f"{pattern.total:,}"
    told = (
        f"{given:,} of {of} in the graph {'is' if given == 1 else 'are'} among the answers above."
    )
    parameters = [
        (html_text(name), html_text(json.dumps(value, ensure_ascii=False, default=str)))
        for name, value in pattern.parameters.items()
    ]
    return [
        f"<h3>{_isolated(pattern.text)}</h3>",
        f"<p>{told}</p>",
        f'<pre class="wide">{_lines(pattern.cypher)}</pre>',
        *_table(("parameter", "value"), parameters, empty="No parameters."),
    ]


def _lines(text: str) -> str:
    """Keep the line ends of a statement, and nothing else that controls."""
    return "\n".join(map(html_text, text.split("\n")))


def _paths(result: SearchResult) -> list[str]:
    if not result.paths:
        return []
    terms = list(dict.fromkeys(term for ranked in result.paths for term in ranked.terms))
    cells = [
        (
            f'<span id="path-{ranked.rank}">{ranked.rank}</span>',
            _ranked_path(ranked),
            _number(f"{ranked.score:.3f}"),
            _number(f"{ranked.confidence:.3f}"),
            *(_number(_term(ranked.terms, term)) for term in terms),
        )
        for ranked in result.paths
    ]
    return [
        '<section id="paths">',
        "<h2>The paths</h2>",
        *_table(("rank", "path", "score", "confidence", *map(html_text, terms)), cells),
        *_meanings(result, [term for term in terms if term in _TERMS]),
        "</section>",
    ]


def _meanings(result: SearchResult, terms: Sequence[str]) -> list[str]:
    if not terms:
        return []
    return [
        "<details>",
        "<summary>What the terms of the score mean</summary>",
        "<ul>",
        *(f"<li>{term}: {_TERMS[term]}{_weight(result, term)}</li>" for term in terms),
        "</ul>",
        "</details>",
    ]


def _ranked_path(ranked: RankedPath) -> str:
    names = {node.id: node.name for node in ranked.nodes}
    lines = [_path(ranked.path, names)]
    if not ranked.hops and (facts := node_facts(ranked.nodes[0])):
        lines.append(html_text(facts))
    if sources := sources_text(ranked):
        lines.append(f'<span class="dim">source: {html_text(sources)}</span>')
    if ranked.text:
        lines.append(f'<span class="dim">read as: {html_text(ranked.text)}</span>')
    return "<br>".join(lines)


def _term(terms: Mapping[str, float], term: str) -> str:
    return f"{terms[term]:.3f}" if term in terms else ""


def _weight(result: SearchResult, term: str) -> str:
    weight = result.config.get(f"weight_{term}")
    return "" if weight is None else f"; --weight-{term.replace('_', '-')} {html_text(weight)}"


def _starts(explanation: Explanation, rows: int) -> list[str]:
    result = explanation.result
    names = {node: name for depth in explanation.depths for node, name in depth.names.items()}
    seeds = result.seeds[: rows or None]
    return [
        '<section id="anchors">',
        "<h2>Anchors: entities that the question names</h2>",
        *_table(
            ("mention", "entity", "id", "score"),
            [
                (
                    _isolated(anchor.mention),
                    _isolated(anchor.name),
                    _isolated(anchor.id),
                    _number(f"{anchor.score:.3f}"),
                )
                for anchor in result.anchors
            ],
            empty="None, so paths start at the seeds.",
        ),
        "</section>",
        '<section id="seeds">',
        "<h2>Seeds: entities that its words and meaning lead to "
        f"({len(seeds)} of {len(result.seeds)})</h2>",
        *_table(
            ("entity", "id", "similarity", "fused"),
            [
                (
                    _isolated(names.get(seed.id, "")),
                    _isolated(seed.id),
                    _number(f"{seed.similarity:.3f}"),
                    _number(f"{seed.fused:.4f}"),
                )
                for seed in seeds
            ],
            empty="None.",
        ),
        "</section>",
    ]


def _depths(depths: Sequence[DepthTrace], rows: int) -> list[str]:
    if not depths:
        return []
    chains = any(traced.chain for depth in depths for traced in depth.paths)
    what = "chains, each with one of its paths" if chains else "paths"
    return [
        '<section id="depths">',
        "<h2>How the paths were found</h2>",
        f'<p class="dim">Of each depth the best {what}, by steer: what decides which lead on. '
        "Confidence is how sure it is that the answer is at the end.</p>",
        *(line for depth in depths for line in _depth(depth, rows)),
        "</section>",
    ]


def _depth(depth: DepthTrace, rows: int) -> list[str]:
    """Tell one depth: kept paths, then each reason to cut, with its count and its best paths."""
    kept = [traced for traced in depth.paths if not traced.reason]
    counts: dict[str, int] = {}
    for cut in depth.cut:
        counts[cut.reason] = counts.get(cut.reason, 0) + cut.count
    traced_cut: dict[str, list[TracedPath]] = {}
    for traced in depth.paths:
        if traced.reason:
            traced_cut.setdefault(traced.reason, []).append(traced)
    lines = [
        f'<section class="depth" data-depth="{depth.depth}">',
        f"<h3>Depth {depth.depth}: {len(kept)} kept</h3>",
        *_traced(kept, depth.names, rows),
    ]
    for reason in dict.fromkeys((*counts, *traced_cut)):
        paths = traced_cut.get(reason, [])
        count = counts.get(reason, len(paths))
        told = f"cut: {count:,} {html_text(CUT_REASONS.get(reason, reason))}"
        if not paths:
            # Nothing to fold: paths that were never scored are counted only.
            lines.append(f'<p class="cut">{told}</p>')
            continue
        lines += [
            '<details class="cut" open>',
            f"<summary>{told}</summary>",
            *_traced(paths, depth.names, rows),
            "</details>",
        ]
    if depth.truncated:
        capped = ", ".join(map(_isolated, depth.truncated))
        lines.append(f"<p>Not all relationships read: {capped}</p>")
    return [*lines, "</section>"]


def _traced(paths: Sequence[TracedPath], names: Mapping[str, str], rows: int) -> list[str]:
    """List paths of a depth; nothing where there is none."""
    if not paths:
        return []
    shown = paths[: rows or None]
    cells = [
        (
            _number(f"{traced.steer:.3f}"),
            _number(f"{traced.confidence:.3f}"),
            _chain(traced.chain, traced.path, names) if traced.chain else _path(traced.path, names),
        )
        for traced in shown
    ]
    more = len(paths) - len(shown)
    what = "chain" if any(traced.chain for traced in paths) else "path"
    return [
        *_table(("steer", "confidence", what), cells),
        *([f'<p class="dim">and {more:,} more below them (--rows)</p>'] if more else []),
    ]


def _end(result: SearchResult) -> list[str]:
    """Tell what was left out when the search ended, what it cost, and how it was set."""
    stats = result.stats
    told = left_out(result)
    strategy = f"{stats.strategy} ({stats.strategy_reason})."
    settings = [
        (html_text(name), html_text(json.dumps(value, ensure_ascii=False, default=str)))
        for name, value in sorted(result.config.items())
    ]
    return [
        '<section id="end">',
        "<h2>At the end</h2>",
        *([f"<p>Left out: {html_text(told)}</p>"] if told else []),
        f"<p>Depth {stats.depth}, {stats.round_trips:,} round trips, {stats.candidates:,} "
        f"candidates, {stats.texts_scored:,} texts scored.</p>",
        *([f"<p>Strategy: {html_text(strategy)}</p>"] if stats.strategy else []),
        "<details>",
        "<summary>Options of the search</summary>",
        *_table(("option", "value"), settings, empty="None."),
        "</details>",
        "</section>",
    ]


def _chain(chain: Chain, path: Path, names: Mapping[str, str]) -> str:
    """Write a chain that was scored, and below it one of its paths."""
    pieces = [_node(names.get(chain.start, chain.start))]
    for step in chain.steps:
        pieces.append(_arrow(html_text(step.type), forward=step.forward))
        # A step into the one node that is meant says which; others may end anywhere.
        end = _node(names.get(step.id, step.id)) if step.id else f"({_isolated(step.label)})"
        pieces.append(end)
    line = " ".join(pieces)
    if not chain.steps:
        return line
    return f'{line}<br><span class="dim">such as</span> {_path(path, names)}'


def _path(path: Path, names: Mapping[str, str]) -> str:
    """Write a path on one line; a node without a name is told by its id."""
    pieces = [_node(names.get(path.start, path.start))]
    for hop in path.hops:
        told = html_text(hop.edge.type) + html_text(properties_text(hop.edge.properties))
        pieces.append(_arrow(told, forward=hop.forward))
        pieces.append(_node(names.get(hop.tail, hop.tail)))
    return " ".join(pieces)


def _arrow(told: str, *, forward: bool) -> str:
    arrow = f"—[{told}]→" if forward else f"←[{told}]—"
    return f'<span class="relation">{arrow}</span>'


def _node(name: str) -> str:
    return f'<span class="node-name">{_isolated(name)}</span>'


def _isolated(text: object) -> str:
    """Keep a text that runs right to left from turning what stands around it."""
    return f"<bdi>{html_text(text)}</bdi>"


def _number(text: str) -> str:
    return f'<span class="number">{text}</span>'


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str = "") -> list[str]:
    """Write rows of finished cells under their headings."""
    body = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    if not body:
        return [f'<p class="dim">{empty}</p>']
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    return [
        '<div class="wide"><table>',
        f"<thead><tr>{head}</tr></thead>",
        "<tbody>",
        *body,
        "</tbody>",
        "</table></div>",
    ]
