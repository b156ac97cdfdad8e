"""Teach the encoder which words tell of the same thing.

A reranker sees a question with eight texts at a time; that is too little to learn what "water comes
in faster than a bonnet can scoop it out" tells of. Here every question of a batch is compared with
every text of the batch by the cosine of their vectors, so that a step compares thousands of pairs
for the price of two hundred.

The loss is that of multiple negatives (Henderson et al. 2017, "Efficient Natural Language Response
Suggestion"), in both directions: the text of a question among all texts, and the other way round.

``python -m pathrag_gds.models.training.contrastive --output FOLDER`` writes the encoder that
``python -m pathrag_gds.models.export`` makes the shipped one of.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from random import Random
from typing import Any

from pathrag_gds.models.export.bert import default_weights
from pathrag_gds.models.training.lexicon import (
    Attribute,
    Frame,
    Lexicon,
    RelationWords,
    load_lexicon,
)
from pathrag_gds.models.training.recipe import held_out_lexicon
from pathrag_gds.models.training.torch_import import import_torch
from pathrag_gds.models.training.worlds import draw_one, fill

__all__ = ["Pair", "event_choices", "lexicon_pairs", "train_encoder"]

_BATCH = 96
_SCALE = 20.0  # of cosines before the softmax, as sentence-transformers has it
_MAX_TOKENS = 96
# How often each part of the lexicon is drawn, in a batch of both questions and texts.
_EVENTS, _RELATIONS = 0.68, 0.26

_FORMS = (
    "where did {nominal} take place",
    "where was {agent} when {clause}",
    "in which village was {agent} when {clause}",
    "in which room was everyone when {clause}",
    "which animal was there when {clause}",
    "who was there when {clause}",
    "who was involved in {nominal}",
    "which town did {nominal} happen in",
    "what happened when {clause}",
    "where did {did}",
    "when did {did}",
    "{nominal}",
    "{clause}",
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a text that answers it.

    Attributes:
        kind: Pairs of one kind are no counterexamples of each other.
    """

    question: str
    text: str
    kind: str


def lexicon_pairs(lexicon: Lexicon, count: int, random: Random) -> list[Pair]:
    """Draw so many pairs of different kinds, or fewer where the lexicon has not so many.

    All of them speak of the same persons, so that no name tells which text is meant. Entries beside
    each other in the lexicon are drawn together: they are alike, and hard to tell apart.
    """
    names = random.sample(lexicon.names["person"]["first"], 2)
    found: dict[str, Pair] = {}
    for _ in range(20 * count):
        if len(found) >= count:
            break
        draw = random.random()
        if draw < _EVENTS:
            for frame in _neighbours(lexicon.frames, random):
                pair = _event_pair(frame, names, random)
                found.setdefault(pair.kind, pair)
        elif draw < _EVENTS + _RELATIONS:
            for words in _neighbours(lexicon.relations, random):
                pair = _relation_pair(words, names[0], random)
                found.setdefault(pair.kind, pair)
        else:
            pair = _attribute_pair(draw_one(lexicon.attributes, random), names[0], random)
            found.setdefault(pair.kind, pair)
    return list(found.values())[:count]


def event_choices(
    lexicon: Lexicon, count: int, random: Random, *, size: int = 20
) -> list[tuple[str, list[str]]]:
    """Draw questions about events, each with texts of which the first is meant.

    Args:
        size: Texts of a question: the right one, up to six entries beside its own, and others.
    """
    choices = []
    for _ in range(count):
        at = random.randrange(len(lexicon.frames))
        names = random.sample(lexicon.names["person"]["first"], 2)
        asked = _event_pair(lexicon.frames[at], names, random)
        near = [n for n in range(max(0, at - 3), min(len(lexicon.frames), at + 4)) if n != at]
        far = [n for n in range(len(lexicon.frames)) if n != at and n not in near]
        chosen = [*near, *random.sample(far, min(len(far), max(0, size - 1 - len(near))))]
        others = [_event_pair(lexicon.frames[n], names, random).text for n in chosen]
        choices.append((asked.question, [asked.text, *others]))
    return choices


def _neighbours(entries: Sequence[Any], random: Random) -> Sequence[Any]:
    at = random.randrange(len(entries))
    return entries[at : at + draw_one((1, 2, 4), random)]


def _event_pair(frame: Frame, names: Sequence[str], random: Random) -> Pair:
    said = {"agent": names[0], "partner": names[1], "place": "the hall"}
    for role, kinds in frame.roles.items():
        words = frame.fillers.get(role)
        named = "person" in kinds or "animal" in kinds
        if words and role != "agent" and not (named and role in said):
            said[f"{role}.bare"] = draw_one(words, random)
            said[role] = f"the {said[f'{role}.bare']}"
        # What has no common nouns of its own is an organisation.
        said.setdefault(role, "the company")
        said.setdefault(f"{role}.bare", said[role])

    question = draw_one(_FORMS, random).format(
        nominal=fill(draw_one(frame.nominals, random), said),
        clause=fill(draw_one(frame.clauses, random), said),
        did=fill(draw_one(frame.did, random), said),
        agent=names[0],
    )
    # As a node is told to the encoder, or without its label.
    label = draw_one((".", " is a event."), random)
    title = fill(draw_one(frame.titles, random), said)
    text = f"{title}{label} {fill(draw_one(frame.descriptions, random), said)}"
    return Pair(question, text, f"event {frame.kind}")


def _relation_pair(words: RelationWords, name: str, random: Random) -> Pair:
    kind = f"relation {words.types[0]} {words.source.kind} {words.target.kind}"
    if random.random() < 0.5:
        words = words.inverted()
    # Without names of the kind of "directed by", the relation can be told from its other end only.
    if not words.types:
        words = words.inverted()
    asked = draw_one((*words.to_target, *words.ask_target), random).replace("{x}", name)
    told = draw_one(words.types, random)
    noun = draw_one(words.target.nouns, random)[0]
    return Pair(asked, f"{name} {told} {noun} B. The answer is {noun} B.", kind)


def _attribute_pair(attribute: Attribute, name: str, random: Random) -> Pair:
    asked = draw_one(attribute.questions, random).replace("{x}", name)
    told = f"{name}'s {draw_one(attribute.keys, random)} is {draw_one(attribute.values, random)}."
    return Pair(asked, told, f"attribute {attribute.keys[0]}")


def train_encoder(
    output: FilePath,
    *,
    minutes: float,
    base: FilePath | None = None,
    learning_rate: float = 1e-4,
    seed: int = 0,
    lexicon: Lexicon | None = None,
) -> tuple[float, float]:
    """Train an encoder on the pairs of the lexicon, and write it.

    Args:
        output: Folder for weights and tokenizer.
        minutes: Wall clock.
        base: Folder of a BERT encoder; None is all-MiniLM-L6-v2.
        lexicon: Of which the entries that are held out are not learnt; None is the package's.

    Returns:
        Share of held-out questions about an event whose text of twenty has the highest cosine,
        before and after.
    """
    torch = import_torch()
    import transformers

    lexicon = lexicon or load_lexicon()
    torch.manual_seed(seed)
    random = Random(f"contrastive {seed}")
    folder = str(base or default_weights())
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True)

    def encode(texts: Sequence[str]) -> Any:
        batch = tokenizer(
            list(texts), padding=True, truncation=True, max_length=_MAX_TOKENS, return_tensors="pt"
        )
        with torch.autocast("cpu", torch.bfloat16):
            states = model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        means = (states.float() * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(means, dim=1)

    choices = event_choices(held_out_lexicon(lexicon, True), 300, Random("choices"))

    def hit() -> float:
        right = 0
        with torch.inference_mode():
            for question, texts in choices:
                vectors = encode([question, *texts])
                right += int((vectors[1:] @ vectors[0]).argmax()) == 0
        return right / len(choices)

    before = hit()
    learnt = held_out_lexicon(lexicon, False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
    started = time.monotonic()
    step, told = 0, started
    while (share := (time.monotonic() - started) / (60 * minutes)) < 1:
        pairs = lexicon_pairs(learnt, _BATCH, random)
        cosines = encode([p.question for p in pairs]) @ encode([p.text for p in pairs]).T
        right = torch.arange(len(pairs))
        loss = torch.nn.functional.cross_entropy(_SCALE * cosines, right)
        loss = (loss + torch.nn.functional.cross_entropy(_SCALE * cosines.T, right)) / 2
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * min(1.0, (step + 1) / 30, 1.05 - share)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"{share:.1%}  batch {step:,}  loss {loss.item():.4f}", file=sys.stderr)
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)
    return before, hit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the arguments say; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pathrag_gds.models.training.contrastive")
    parser.add_argument("--output", type=FilePath, required=True)
    parser.add_argument("--from", dest="base", type=FilePath)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    before, after = train_encoder(
        options.output,
        minutes=options.minutes,
        base=options.base,
        learning_rate=options.learning_rate,
        seed=options.seed,
    )
    print(f"hit of 20, held out: {before:.3f} before, {after:.3f} after")
    return 0


if __name__ == "__main__":
    sys.exit(main())
