"""What a recipe of training allows, and its learning rate."""

from __future__ import annotations

from typing import Any

import pytest

from pathrag_gds.errors import ConfigError
from pathrag_gds.models.training.trainer import TrainingRecipe


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "exactly one limit"),
        ({"steps": 1, "minutes": 1}, "exactly one limit"),
        ({"steps": 0}, "exactly one limit"),
        ({"steps": 1, "learning_rate": 0}, "learning_rate must be above 0"),
        ({"steps": 1, "clip": float("inf")}, "clip must be above 0"),
        ({"steps": 1, "listwise": -1}, "listwise must not be below 0"),
        ({"steps": 1, "warm_up": 1}, "warm_up"),
        ({"steps": 1, "max_tokens": 99}, "max_tokens"),
        ({"steps": 1, "precision": "float16"}, "precision"),
        ({"steps": 1, "keep": "worst"}, "keep"),
        ({"steps": 1, "blend": 0}, "blend"),
        ({"steps": 1, "blend": 1.5}, "blend"),
    ],
)
def test_recipes_that_make_no_sense(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        TrainingRecipe(**values)


def test_the_rate_rises_and_falls() -> None:
    recipe = TrainingRecipe(steps=100, learning_rate=1.0, warm_up=0.1)
    rates = [recipe.rate(share) for share in (0, 0.05, 0.1, 0.55, 1.0)]
    assert rates == pytest.approx([0, 0.5, 1, 0.5, 0])
    assert TrainingRecipe(steps=1, learning_rate=1.0, warm_up=0).rate(0) == 1
