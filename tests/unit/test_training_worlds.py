"""Small worlds: what their questions call things."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from pathrag_gds.models.training.lexicon import load_lexicon
from pathrag_gds.models.training.worlds import make_event_world


def test_only_what_has_a_name_of_its_own_goes_without_an_article() -> None:
    whole = load_lexicon()
    filled = {"Sunday roast", "Christmas tree", "Roman vase"}
    frames = [f for f in whole.frames if filled & {x for xs in f.fillers.values() for x in xs}]
    houses = ["Rose Cottage", "The Gables", "12 Elm Row", "Ivy Lodge", "Beech Manor", "Larkrise"]
    places = {**whole.names["place"], "house": houses}
    lexicon = replace(whole, frames=tuple(frames), names={**whole.names, "place": places})
    said = set()
    for seed in range(30):
        world = make_event_world(lexicon, Random(seed))
        for event in world.events:
            for role, id_ in [*event.roles.items(), ("place", event.where)]:
                kind, called = world.place_kinds[id_], event.articles[role]
                said.add(called)
                if kind in ("person", "animal", "organisation"):
                    assert called == event.articles[f"{role}.bare"]
                elif kind in ("room", "outdoor"):
                    assert called == f"the {event.articles[f'{role}.bare']}"
    assert {f"the {name}" for name in filled} <= said
    assert {"the kitchen", "Rose Cottage", "The Gables"} <= said
    # Where a world writes its names in small letters, they are names all the same.
    assert "rose cottage" in said
    assert not {"Sunday roast", "the Rose Cottage", "the rose cottage", "the the gables"} & said
