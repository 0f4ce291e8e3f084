"""Answers that are kept as long as a study's record stays the same."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tuner.service.cache.answer import Answer, Ask
from tuner.service.cache.reader import Reader
from tuner.service.cache.reading import EVERY_RECOMMENDATION
from tuner.storage.files import RESULTS_FILE

_SLOW: Final = frozenset({"report", "picture"})
"""What takes seconds and is not to hold up the rest."""
_CONDITIONS: Final = frozenset({"max_p99_ms", "min_mb_per_s"})
_MOST_BYTES: Final = 24_000_000
_LARGEST_SHARE: Final = 4
_PATIENCE_S: Final = 0.05
_FRESH_S: Final = 1.0
_OVERHEAD_BYTES: Final = 1_000


@dataclass(slots=True)
class _Kept:
    stamp: Any
    answer: Answer


class Answers:
    """Asks readers, and keeps what they said. For one event loop.

    A record is looked at anew with each question, by the files' times; on a storage that several hosts share, at most
    once a second. Equal questions at a time are asked once. Where an older answer is there, a newer one is awaited for
    50 ms only: who polls gets it the next time.

    Args:
        root: Folder of the studies.
        shared: Whether the record lies elsewhere than below the root.
    """

    def __init__(self, root: Path, *, shared: bool = False) -> None:
        self._root = root
        self._shared = shared
        self._quick, self._slow = Reader(root, "quick"), Reader(root, "slow")
        self._kept: OrderedDict[Ask, _Kept] = OrderedDict()
        self._bytes = 0
        self._asking: dict[Ask, asyncio.Task[dict[Ask, Answer]]] = {}
        self._stamps: dict[str, tuple[float, Any]] = {}
        # Started before somebody waits for it: its imports take seconds.
        self._quick.ask(Ask.of("", "stamp"))
        self.hits = 0
        self.misses = 0

    async def get(self, ask: Ask) -> Answer:
        """The answer to a question."""
        stamp = await self._stamp(ask.study)
        kept = self._kept.get(ask)
        if kept is not None and kept.stamp == stamp:
            self._kept.move_to_end(ask)
            self.hits += 1
            return kept.answer
        self.misses += 1
        asking = asyncio.ensure_future(self._made(ask, stamp))
        if kept is not None and kept.answer.status == 200:
            done, _ = await asyncio.wait({asking}, timeout=_PATIENCE_S)
            if not done:
                return kept.answer
        return await asyncio.shield(asking)

    async def fresh(self, ask: Ask) -> Answer:
        """The answer as it is now, not kept: for what changes without the record, such as a status."""
        ((_, answer),) = await asyncio.wrap_future(self._reader(ask).ask(ask))
        return answer

    async def warm(self, studies: Iterable[str]) -> None:
        """Ask ahead what pollers are likely to."""
        for study in studies:
            stamp = await self._stamp(study)
            await self._once(Ask.of(study, EVERY_RECOMMENDATION), stamp)

    def close(self) -> None:
        """End the readers."""
        self._quick.close()
        self._slow.close()

    @property
    def kept_bytes(self) -> int:
        """How much is kept, about."""
        return self._bytes

    async def _made(self, ask: Ask, stamp: Any) -> Answer:
        """The answer, from a reader. Recommendations are made all at once: reading the study is what takes long."""
        if ask.what == "recommendation" and not _CONDITIONS & {name for name, _ in ask.given}:
            await self._once(Ask.of(ask.study, EVERY_RECOMMENDATION), stamp)
            kept = self._kept.get(ask)
            if kept is not None and kept.stamp == stamp:
                return kept.answer
        return (await self._once(ask, stamp))[ask]

    async def _once(self, ask: Ask, stamp: Any) -> dict[Ask, Answer]:
        """The answers to a question that others may be asking just now."""
        asking = self._asking.get(ask)
        if asking is None:
            asking = asyncio.create_task(self._ask(ask, stamp))
            self._asking[ask] = asking
            asking.add_done_callback(lambda _: self._asking.pop(ask, None))
        return await asyncio.shield(asking)

    async def _ask(self, ask: Ask, stamp: Any) -> dict[Ask, Answer]:
        told: list[tuple[Ask, Answer]] = await asyncio.wrap_future(self._reader(ask).ask(ask))
        found = dict(told)
        for each, answer in found.items():
            if answer.status < 500:
                self._keep(each, stamp, answer)
        return found

    def _keep(self, ask: Ask, stamp: Any, answer: Answer) -> None:
        self._drop(ask)
        if len(answer.body) > _MOST_BYTES // _LARGEST_SHARE:
            return
        self._kept[ask] = _Kept(stamp, answer)
        self._bytes += len(answer.body) + _OVERHEAD_BYTES
        while self._bytes > _MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, ask: Ask) -> None:
        kept = self._kept.pop(ask, None)
        if kept is not None:
            self._bytes -= len(kept.answer.body) + _OVERHEAD_BYTES

    def _reader(self, ask: Ask) -> Reader:
        return self._slow if ask.what in _SLOW else self._quick

    async def _stamp(self, study: str) -> Any:
        """Changes whenever the study's record may have."""
        if not self._shared:
            return record_stamp(self._root / study)
        told_at, stamp = self._stamps.get(study, (-_FRESH_S, None))
        if time.monotonic() - told_at >= _FRESH_S:
            stamp = (await self.fresh(Ask.of(study, "stamp"))).etag
            self._stamps[study] = (time.monotonic(), stamp)
        return stamp


def record_stamp(folder: Path) -> tuple[Any, ...]:
    """Changes whenever something is written to a record in SQLite: to its file, or to the log of what is to be."""
    return (_times(folder / RESULTS_FILE), _times(folder / f"{RESULTS_FILE}-wal"))


def _times(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found.st_size else None
