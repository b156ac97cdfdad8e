"""Run an ONNX graph over token ids, many short runs side by side.

Importing this module is light: numpy, ONNX Runtime and tokenizers are imported when a model is
first used.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathrag_gds.errors import ModelError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = ["MODEL_FILE", "TOKENIZER_FILE", "OnnxModel", "equal_length_runs"]

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"

_REINSTALL = "If it is the shipped one, run: pip install --force-reinstall pathrag-gds"
# Tokens in one run: larger runs leave the processor's caches (one thread, 16 tokens a text:
# 641 texts/s at 256, 604 at 512, 569 at 1,024, 485 at 2,048).
_TOKENS_PER_RUN = 512


class OnnxModel:
    """A graph of token ids and its tokenizer. Opened when first used; safe in many threads.

    Rows of equal length run together without padding, so a row's company cannot touch its result
    in a graph that treats each token by itself, as those of ``pathrag_gds.models.export`` do.

    Args:
        folder: Holds ``model.onnx`` (input ``input_ids``) and ``tokenizer.json``.
        output: The output of the graph that is wanted, (rows, width).
        threads: Runs at the same time; 0 for one per core.

    Raises:
        ModelError: On first use, when a file is missing, damaged or of another kind of model.
    """

    def __init__(self, folder: Path, *, output: str, threads: int = 0) -> None:
        self.folder = folder
        self._output = output
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, ThreadPoolExecutor] | None = None

    def __repr__(self) -> str:
        return f"OnnxModel({str(self.folder)!r})"

    @property
    def tokenizer(self) -> Any:
        """Give the tokenizer, which neither pads nor cuts."""
        return self._load()[1]

    @property
    def width(self) -> int:
        """Give the number of values per row of the output."""
        session, *_ = self._load()
        (found,) = [o for o in session.get_outputs() if o.name == self._output]
        return int(found.shape[-1])

    def run(
        self, ids: Sequence[Sequence[int]], *, done: Callable[[int], None] | None = None
    ) -> Matrix:
        """Give one row of output per row of token ids, in order; no rows, none.

        Args:
            ids: Of any lengths, none empty.
            done: Called after each run with the number of rows in it.
        """
        import numpy as np

        session, _, pool = self._load()
        outputs = np.zeros((len(ids), self.width), dtype=np.float32)

        def run(rows: list[int]) -> tuple[list[int], Any]:
            batch = np.array([ids[row] for row in rows], dtype=np.int64)
            return rows, session.run([self._output], {"input_ids": batch})[0]

        # The longest first, so that no thread is left with a long run at the end.
        runs = reversed(list(equal_length_runs([len(row) for row in ids])))
        for rows, values in pool.map(run, runs):
            outputs[rows] = values
            if done:
                done(len(rows))
        return outputs

    def read(self, file: str) -> bytes:
        """Read a file of the folder.

        Raises:
            ModelError: It is missing or unreadable.
        """
        path = self.folder / file
        try:
            return path.read_bytes()
        except OSError as error:
            raise ModelError(
                f"The model {self.folder.name!r} lacks {path}: {error.strerror}.", hint=_REINSTALL
            ) from error

    def _load(self) -> tuple[Any, Any, ThreadPoolExecutor]:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._open()
        return self._loaded

    def _open(self) -> tuple[Any, Any, ThreadPoolExecutor]:
        from concurrent.futures import ThreadPoolExecutor

        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        # Runs are small, since texts of one run have one length: threads that each take a run of
        # their own make 440 texts/s on two cores where threads within a run make 255.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # The graph is fused by hand; the higher levels would swap in slower layer normalisation.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        try:
            tokenizer = Tokenizer.from_str(self.read(TOKENIZER_FILE).decode())
            session = onnxruntime.InferenceSession(
                self.read(MODEL_FILE), options, providers=["CPUExecutionProvider"]
            )
        except ModelError:
            raise
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise ModelError(
                f"The model in {self.folder} cannot be loaded: {error}",
                hint=_REINSTALL,
            ) from error
        outputs = [output.name for output in session.get_outputs()]
        if self._output not in outputs:
            raise ModelError(
                f"The model in {self.folder} gives {', '.join(outputs)}, not {self._output}.",
                hint="An encoder gives embedding, a path reranker logits: give the right folder.",
            )
        tokenizer.no_padding()
        tokenizer.no_truncation()
        pool = ThreadPoolExecutor(self._threads or os.cpu_count() or 1, "onnx")
        return session, tokenizer, pool


def equal_length_runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group positions of equal length, shortest first, into runs of bounded size."""
    by_length: dict[int, list[int]] = {}
    for position, length in enumerate(lengths):
        by_length.setdefault(length, []).append(position)
    for length, positions in sorted(by_length.items()):
        size = max(1, _TOKENS_PER_RUN // length)
        for start in range(0, len(positions), size):
            yield positions[start : start + size]
