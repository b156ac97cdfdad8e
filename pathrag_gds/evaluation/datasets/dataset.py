"""What every data set is made of, and how its files are found and read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pathrag_gds.errors import ConfigError, LoadError
from pathrag_gds.evaluation.graph import Graph
from pathrag_gds.evaluation.questions import Condition, Question
from pathrag_gds.ingest.inputs import Input
from pathrag_gds.ingest.lines import Lines, content_hash

__all__ = ["Dataset", "Place", "digest_of", "fault", "lines_of"]

ALL_BUCKETS = tuple(range(10))


@dataclass(frozen=True, slots=True)
class Dataset:
    """A graph and questions about it.

    Attributes:
        name: As ``pathrag eval`` takes it.
        questions: Of all buckets and groups, in file order.
        digest: Of all files that it was read from, as hex.
        inputs: Files to load into a tenant; none where the questions bring candidates with them.
        graph: The same in memory.
        graph_name: Sets that share it share a tenant.
        graph_digest: Of the inputs.
        report: Buckets that figures are reported on; the others may train.
        main: Group that figures are reported on; empty for all questions.
        conditions: In which the set can be asked, the usual one first.
        recorded: By name, what other systems found whose results came with the set: by question,
            ids of passages, best first.
    """

    name: str
    questions: tuple[Question, ...]
    digest: str
    inputs: tuple[Input, ...] = ()
    graph: Graph = field(default_factory=Graph)
    graph_name: str = ""
    graph_digest: str = ""
    report: tuple[int, ...] = ALL_BUCKETS
    main: str = ""
    conditions: tuple[Condition, ...] = ("file",)
    recorded: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    @property
    def training(self) -> tuple[int, ...]:
        """Buckets that may train and tune: those that no figure is reported on."""
        return tuple(bucket for bucket in ALL_BUCKETS if bucket not in self.report)


@dataclass(frozen=True, slots=True)
class Place:
    """Where to read from.

    Attributes:
        data: Folder of the sets that are not ours; None where none was named.
        questions: Instead of the set's own questions.
        scratch: An empty folder, for files that are made.
    """

    data: Path | None
    questions: Path | None
    scratch: Path

    def file(self, name: str) -> Path:
        """Give a file of the data folder, gzipped or not.

        Raises:
            ConfigError: No folder was named, or it does not have the file.
        """
        if self.data is None:
            raise ConfigError(
                f"{name} lies in a data folder, and none was named.",
                hint="Name it: --data DIR, or set PATHRAG_DATA.",
            )
        for path in (self.data / name, self.data / f"{name}.gz"):
            if path.is_file():
                return path
        raise ConfigError(
            f"{self.data / name} does not exist, nor does it with .gz.",
            hint="Name the folder that holds the data sets: --data DIR.",
        )

    def question_file(self, name: str) -> Path:
        """Give the file of questions that was named, else the set's own."""
        return self.questions or self.file(name)


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Give number and text of every line that is not empty; only ``\\n`` ends a line.

    Raises:
        LoadError: The file cannot be read, or a line is not UTF-8.
    """
    with Lines(path) as lines:
        for line in lines:
            text = line.removesuffix("\n").removesuffix("\r")
            try:
                text.encode()
            except UnicodeEncodeError:
                raise LoadError("the line is not UTF-8.", path=path, line=lines.number) from None
            if text.strip():
                yield lines.number, text


def digest_of(*paths: Path) -> str:
    """Hash what files hold, wherever they lie."""
    return hashlib.sha256(" ".join(map(content_hash, paths)).encode()).hexdigest()


def fault(message: str, path: Path, line: int) -> LoadError:
    """Give the error of a line that has not the set's format."""
    return LoadError(f"{message}.", path=path, line=line)
