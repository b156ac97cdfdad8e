"""A bounded cache for many threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from pathrag_gds.errors import ConfigError

__all__ = ["LeastRecentlyUsed"]

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class LeastRecentlyUsed(Generic[_K, _V]):
    """A bounded mapping for many threads; the least recently used entry goes first.

    Args:
        size: Most entries that are kept.

    Attributes:
        hits: Distinct keys of each look-up that were kept.
        misses: Distinct keys of each look-up that were not.

    Raises:
        ConfigError: ``size`` is below 1.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ConfigError(f"A cache holds at least one entry, not {size}.")
        self._size = size
        self._entries: OrderedDict[_K, _V] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def find(self, keys: Iterable[_K]) -> dict[_K, _V]:
        """Give what is kept of the keys, and count each distinct key as a hit or a miss."""
        found: dict[_K, _V] = {}
        with self._lock:
            for key in dict.fromkeys(keys):
                if key in self._entries:
                    self._entries.move_to_end(key)
                    found[key] = self._entries[key]
                    self.hits += 1
                else:
                    self.misses += 1
        return found

    def store(self, entries: Mapping[_K, _V]) -> None:
        """Keep entries as the most recently used, in their order."""
        with self._lock:
            for key, value in entries.items():
                self._entries[key] = value
                self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
