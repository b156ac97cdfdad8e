"""The data sets that ``pathrag eval`` knows, each read as its files are.

What is not ours lies in a folder of the user's (``--data`` or ``PATHRAG_DATA``) and is never
shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pathrag_gds.errors import ConfigError
from pathrag_gds.evaluation.datasets import (
    metaqa,
    musique,
    pathquestion,
    probes,
    story,
    twowiki,
    wc2014,
    webqsp,
)
from pathrag_gds.evaluation.datasets.dataset import Dataset, Place

__all__ = ["DATASETS", "PARTS", "Dataset", "open_dataset"]


def _probes(graph: str, folder: str) -> Callable[[Place], Dataset]:
    return lambda place: probes.load(place, graph, folder)


DATASETS: Mapping[str, Callable[[Place], Dataset]] = {
    "bob": story.load_bob,
    "story2": story.load_story2,
    "pathquestion-2h": lambda place: pathquestion.load(place, hops=2),
    "pathquestion-3h": lambda place: pathquestion.load(place, hops=3),
    "metaqa-1h": lambda place: metaqa.load(place, hops=1),
    "metaqa-2h": lambda place: metaqa.load(place, hops=2),
    "metaqa-3h": lambda place: metaqa.load(place, hops=3),
    "webqsp-paths": webqsp.load,
    "wc2014-p2": lambda place: wc2014.load(place, conjunctive=False),
    "wc2014-c": lambda place: wc2014.load(place, conjunctive=True),
    "musique": musique.load,
    "twowiki": twowiki.load,
    **{f"probes-{graph}": _probes(graph, "probes") for graph in probes.GRAPHS},
    **{f"probes-held-out-{graph}": _probes(graph, "probes_held_out") for graph in probes.GRAPHS},
}

PARTS: Mapping[str, tuple[str, ...]] = {
    "probes": tuple(f"probes-{graph}" for graph in probes.GRAPHS),
    "probes-held-out": tuple(f"probes-held-out-{graph}" for graph in probes.GRAPHS),
}
"""Sets that are several, each about a graph of its own, and are summed up as one."""


@contextmanager
def open_dataset(
    name: str, *, data: Path | None = None, questions: Path | None = None
) -> Iterator[Dataset]:
    """Read a data set; its files may be gone when the block ends.

    Args:
        name: One of :data:`DATASETS`.
        data: Folder of the sets that are not ours.
        questions: Another file of the set's format, instead of its own.

    Raises:
        ConfigError: The name is unknown, or the data are not there.
        LoadError: A file does not have the set's format; names file and line.
    """
    if name not in DATASETS:
        raise ConfigError(
            f"There is no data set {name!r}.", hint="Known: " + ", ".join([*DATASETS, *PARTS])
        )
    with TemporaryDirectory(prefix="pathrag-eval-") as scratch:
        dataset = DATASETS[name](Place(data, questions, Path(scratch)))
        yield replace(dataset, name=name)
