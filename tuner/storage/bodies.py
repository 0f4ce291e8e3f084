"""Converts values to the form in which folders and databases store them, and reports damaged values."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tuner.model.errors import ResultsDamaged
from tuner.model.progress import Progress
from tuner.model.trial import Trial


@contextmanager
def undamaged(what: str) -> Iterator[None]:
    """Run the block, which reads a stored value. If the value is damaged, the error says where it is stored.

    Raises:
        ResultsDamaged: The block could not read the value, for example because another program has changed it.
    """
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, RecursionError, zlib.error) as error:
        message = str(error)[:200]
        raise ResultsDamaged(
            f"{what} can't be read: it is not as kafka-tuner wrote it "
            f"({type(error).__name__}: {message if message.isprintable() else repr(message)}); "
            "restore it from a copy, or start a new study under another name"
        ) from None


def trial_body(trial: Trial) -> str:
    """Return the stored form of a trial, for `read_trials` to read."""
    return json.dumps(trial.as_json(), separators=(",", ":"))


def read_trials(rows: Iterable[tuple[int, str]], where: str) -> list[tuple[int, Trial]]:
    """Return stored trials with their sequence numbers; `where` names their place in errors.

    Raises:
        ResultsDamaged: A stored trial can't be read, for example because another program has changed it.
    """
    trials = []
    for sequence, body in rows:
        with undamaged(f"row {sequence} of the trials in {where}"):
            trials.append((sequence, Trial.from_json(json.loads(body))))
    return trials


def attachment_body(value: Any) -> bytes:
    """Return the stored form of an attachment, for `read_attachment` to read."""
    return gzip.compress(json.dumps(value).encode(), 5)


def read_attachment(body: bytes) -> Any:
    """Return an attachment from its stored form. Call this inside `undamaged`, which reports a damaged attachment."""
    return json.loads(gzip.decompress(body))


def read_facts(rows: Iterable[tuple[str, str]], where: str) -> dict[str, Any]:
    """Return stored facts (values about the study, such as its seed) by name; `where` names their place in errors.

    Raises:
        ResultsDamaged: A stored fact can't be read, for example because another program has changed it.
    """
    facts = {}
    for name, body in rows:
        with undamaged(f"the fact {name!r} in {where}"):
            facts[name] = json.loads(body)
    return facts


def read_progress(body: str | bytes) -> Progress | None:
    """Return a stored progress report; None if it is damaged. The process that runs the study soon writes another."""
    try:
        return Progress.from_json(json.loads(body))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None
