"""Encoders of the extra ``sentence-transformers``, by local path or hub name.

Nothing is downloaded unless the user asked for a model by its hub name; a folder is opened offline.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathrag_gds.errors import MissingExtra, ModelError
from pathrag_gds.models.encoder import (
    INPUT_VERSION,
    EncodeProgress,
    fingerprint_of,
    well_formed,
)

if TYPE_CHECKING:
    from pathrag_gds.models.encoder import Matrix

__all__ = [
    "SentenceTransformerEncoder",
    "import_sentence_transformers",
    "tokenizer_bytes",
    "weight_bytes",
]

# Texts between two reports of progress.
_TEXTS_PER_CHUNK = 4096


class SentenceTransformerEncoder:
    """Encode with sentence-transformers: any of its models, by local path or hub name.

    Padding and batch can move the last digits of these vectors (about 1e-6), unlike the shipped
    encoder's.

    Args:
        model: Folder, or a name that sentence-transformers resolves. Only a name can cause a
            download, and only because the user gave it.
        device: Such as ``cpu`` or ``cuda``; None leaves the choice to the library.
        batch_size: Texts in one run.

    Raises:
        MissingExtra: sentence-transformers is not installed.
        ModelError: The model cannot be loaded.
    """

    def __init__(
        self, model: str | Path, *, device: str | None = None, batch_size: int = 64
    ) -> None:
        self._name = str(model)
        self._batch_size = batch_size
        # Its tokenizer is changed while it works, and refuses a second thread at that moment.
        self._lock = threading.Lock()
        library = import_sentence_transformers("An encoder by name or path")
        try:
            self._model = library.SentenceTransformer(
                self._name, device=device, local_files_only=Path(self._name).exists()
            )
        except Exception as error:  # the library raises whatever its loaders raise
            raise ModelError(
                f"The encoder {self._name!r} cannot be loaded: {error}",
                hint="Give a folder that sentence-transformers can read, or leave the model out.",
            ) from error

    def __repr__(self) -> str:
        return f"SentenceTransformerEncoder({self._name!r})"

    @property
    def name(self) -> str:
        """Give the path or name that was asked for."""
        return self._name

    @property
    def dimension(self) -> int:
        """Give the length of a vector."""
        model = self._model
        # Renamed in version 6; the old name warns there.
        ask = getattr(model, "get_embedding_dimension", None)
        return int(ask() if ask else model.get_sentence_embedding_dimension())

    @property
    def max_tokens(self) -> int:
        """Give the number of tokens that count, marks included."""
        return int(self._model.max_seq_length)

    @cached_property
    def fingerprint(self) -> str:
        """Give the short hex that names these vectors; reads all weights once."""
        return fingerprint_of(
            *weight_bytes(self._model),
            *(repr(module).encode() for module in self._model),
            tokenizer_bytes(self._model.tokenizer),
            f"l2,{self.max_tokens},{INPUT_VERSION}".encode(),
        )

    def encode(self, texts: Sequence[str], *, progress: EncodeProgress | None = None) -> Matrix:
        """Give one unit vector per text: (texts, dimension), in order; no texts, no rows."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_PER_CHUNK):
            chunk = [well_formed(text) for text in texts[start : start + _TEXTS_PER_CHUNK]]
            with self._lock:
                vectors[start : start + len(chunk)] = self._model.encode(
                    chunk,
                    batch_size=self._batch_size,
                    normalize_embeddings=True,
                    show_progress_bar=False,
                )
            if progress:
                progress(start + len(chunk), len(texts))
        return vectors

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text before any cut, marks included."""
        with self._lock:
            return len(self._model.tokenizer(well_formed(text), verbose=False)["input_ids"])


def import_sentence_transformers(needed_for: str) -> Any:
    """Import sentence-transformers, or raise ``MissingExtra`` naming what it is needed for."""
    try:
        import sentence_transformers
    except ImportError as error:
        raise MissingExtra("sentence-transformers", needed_for=needed_for) from error
    return sentence_transformers


def weight_bytes(model: Any) -> Iterator[bytes]:
    """Yield the name and the bytes of each weight of a torch module, sorted by name."""
    import torch

    for name, tensor in sorted(model.state_dict().items()):
        yield f"{name}:{tensor.dtype}:{tuple(tensor.shape)}".encode()
        yield tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()


def tokenizer_bytes(tokenizer: Any) -> bytes:
    """Give the bytes that a tokenizer is made of: its file, or else its vocabulary."""
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is not None:
        return str(fast.to_str()).encode()
    return repr(sorted(tokenizer.get_vocab().items())).encode()
