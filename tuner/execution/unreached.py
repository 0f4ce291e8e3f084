"""Removes a new study or experiment again if its cluster can't be used."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from runners.errors import RunnerError
from runners.reporting import Say
from tuner.model.errors import StudyError
from tuner.model.facts import CLIENT_VERSION
from tuner.storage.protocols import Storage


@contextmanager
def removed_if_unreached(storage: Storage, folder: Path, name: str, say: Say) -> Iterator[None]:
    """Run the block, and remove the study that it creates if the cluster can't be used before anything is sent.

    The usual causes are a mistyped address or topic, and a Docker engine that does not run. A study or a folder that
    was there before is kept, also the folder of all studies.

    Args:
        storage: Where the study or experiment is kept.
        folder: Its folder.
        name: Its name.
        say: Called with a sentence for the user.

    Raises:
        RunnerError: The error from the block.
    """
    is_first = not folder.parent.exists()
    is_new = not folder.exists() and not storage.has(folder)
    try:
        yield
    except RunnerError:
        if is_new:
            with suppress(StudyError):  # the error from the block tells the user more than this one
                with closing(storage.read(folder)) as store:
                    # The facts about the environment are stored as soon as the cluster has answered.
                    unreached = not store.trials() and CLIENT_VERSION not in store.facts()
                if unreached:
                    storage.remove(folder, name, say)
                    if is_first:
                        with suppress(OSError):  # another study has begun since
                            folder.parent.rmdir()
                    say(f"{name} is not kept, because its cluster could not be used")
        raise
