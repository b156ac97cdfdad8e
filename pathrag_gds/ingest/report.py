"""How far a load is, and what it did."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pathrag_gds.errors import PartialError

__all__ = ["LoadProgress", "LoadReport", "Stage"]

Stage = Literal["chunks", "nodes", "relationships", "finishing"]


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far a load is.

    Attributes:
        path: The file being read; None while finishing.
        rows: Rows of this file and stage that are settled, those of earlier runs included.
        bytes_done: Bytes of the file that were read, as it lies on disk.
        bytes_total: Size of the file.
    """

    stage: Stage
    path: Path | None = None
    rows: int = 0
    bytes_done: int = 0
    bytes_total: int = 0


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did.

    Attributes:
        nodes: Node rows that were written.
        relationships: Relationship rows that were written.
        chunks: Chunk rows that were written.
        rejected: Rows that were left out.
        resumed: Records that an interrupted run had settled and this one passed over.
        seconds: Wall time.
        reject_files: Where the rejected rows are, in the order of the inputs.
        warnings: What was changed about rows, or may surprise; sorted.
    """

    nodes: int = 0
    relationships: int = 0
    chunks: int = 0
    rejected: int = 0
    resumed: int = 0
    seconds: float = 0.0
    reject_files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Rows that were written."""
        return self.nodes + self.relationships + self.chunks

    @property
    def rows_per_s(self) -> float:
        """Rows written per second of the whole load; 0 when it took no time."""
        return self.rows / self.seconds if self.seconds else 0.0

    def partial_error(self) -> PartialError | None:
        """Give the error that says which rows were left out; None when all were written."""
        if not self.rejected:
            return None
        files = ", ".join(str(path) for path in self.reject_files)
        command = shlex.join(["pathrag", "load", *(str(path) for path in self.reject_files)])
        return PartialError(
            f"{self.rows} rows were loaded, {self.rejected} were not. "
            f"They are in {files}, each with its reason.",
            hint=f"Mend these files, then run: {command}",
        )

    def to_dict(self) -> dict[str, object]:
        """Give plain JSON values."""
        return asdict(self) | {
            "rows_per_s": self.rows_per_s,
            "reject_files": [str(path) for path in self.reject_files],
            "warnings": list(self.warnings),
        }
