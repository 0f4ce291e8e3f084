"""Makes and runs the studies of `tuner verify`, `compare-clients` and `calibrate`; each call has a study of its own."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tuner.cli.interruption import interruption_of
from tuner.cli.options.study_from_options import naming_options
from tuner.cli.options.target_options import check_simulated
from tuner.execution.open_bench import counts
from tuner.execution.studies.run import measure_study
from tuner.model.errors import EXPECTED, StudyError, StudyNotFound
from tuner.model.spec import Executor, StudySpec
from tuner.model.study_files import numbered_name
from tuner.present.console import say
from tuner.present.studies.study_view import StudyView
from tuner.results.study_results import StudyResults
from tuner.storage.folder_files import removed_if_empty
from tuner.storage.locations import studies_root, study_folder
from tuner.storage.protocols import Storage
from tuner.study_file import drop_used_secrets, measuring_text, parse_study, same_measurement


def free_name(stem: str, storage: Storage) -> str:
    """Return `STEM-1`, or the name with the next number for which there is no study and no folder yet."""
    root = studies_root()
    return numbered_name(stem, (*storage.names(root), *(path.name for path in root.glob("*"))))


def study_of_options(
    name: str,
    record_bytes: str,
    *,
    client: str | None = None,
    against: Path | None = None,
    bootstrap: str | None = None,
    command_config: Path | None = None,
    container: str | None = None,
    seconds: float | None = None,
    warmup: float | None = None,
    executor: Executor | None = None,
) -> tuple[StudySpec, str]:
    """Return a study with the settings of the command's options, and the text of its study file.

    Args:
        name: The study's name.
        record_bytes: The record sizes.
        client: The client that is measured; None for librdkafka.
        against: The properties file of the baseline; None for the client's defaults.
        bootstrap: Address of the user's cluster; None to start a broker on this machine.
        command_config: File with the connection settings of that cluster.
        container: Image to start the broker from.
        seconds: Seconds of load that are measured, in each phase; None for 10.
        warmup: Seconds of load before that; None for 2.
        executor: Where the benchmarks run; None for this host without Ray.

    Raises:
        typer.BadParameter: An option has a value that a study file can't have, or options exclude each other. The
            message names the options.
    """
    target = {"bootstrap": bootstrap, "command_config": command_config, "container": container}
    check_simulated(executor, **target)
    text = measuring_text(
        name,
        record_bytes,
        target=target,
        client=client,
        baseline=against,
        measured_s=seconds,
        warmup_s=warmup,
        executor=executor or Executor.LOCAL,
    )
    with naming_options("--against"):
        spec = parse_study(text, name=name, folder=Path.cwd(), origin="the command line", searched=False, advice="")
    return spec, text


@contextlib.contextmanager
def new_study(stem: str, storage: Storage, *, silent: bool) -> Iterator[str]:
    """Create a study or an experiment with a free name, and remove it if the block ends before anything was measured.

    On Ctrl-C, a message says what is stored, and that the same command does not continue it.

    Args:
        stem: The beginning of the name.
        storage: Where the study is stored.
        silent: Whether to say nothing if an error ends the block.

    Yields:
        The name.
    """
    with removed_if_empty(studies_root()):
        # Another process, maybe on another host, may have just taken the name.
        while not storage.create(folder := study_folder(free_name(stem, storage))):
            pass
        name = folder.name
        try:
            yield name
        except BaseException as error:
            kept = _kept(storage, folder)
            if (interruption := interruption_of(error)) is not None:
                again = "the same command starts over"
                again += " and deletes what is left" if isinstance(error, EXPECTED) else ""  # the clean-up failed
                interruption.args = (
                    f"what was measured is kept as {name}; {again}, and `tuner rm {name}` removes what is kept"
                    if kept
                    else f"nothing that counts was measured yet, so {name} is not kept; {again}",
                )
            elif not kept and not silent:
                say(f"{name} is not kept, because nothing that counts was measured")
            raise


def _kept(storage: Storage, folder: Path) -> bool:
    """Return whether a study has a measurement that counts, or one that failed; if it has none, remove it."""
    with contextlib.suppress(StudyError):  # the error that ended the study tells the user more
        try:
            with contextlib.closing(storage.read(folder)) as store:
                if counts(store):
                    return True
            storage.remove(folder, folder.name, say)
        except StudyNotFound:  # its results were not opened yet
            with contextlib.suppress(OSError):
                folder.rmdir()
        return False
    return True


def run_own_study(
    spec: StudySpec,
    text: str,
    stem: str,
    storage: Storage,
    *,
    silent: bool,
) -> StudyResults:
    """Run a study that has a free name, and return its results.

    Args:
        spec: The study, with a name from `free_name`.
        text: The text of its study file.
        stem: The beginning of the name. If another process takes the name first, the study gets the next name.
        storage: Where the study is stored.
        silent: Whether to show no progress.
    """
    with new_study(stem, storage, silent=silent) as name:
        if name != spec.name:
            spec = replace(spec, name=name)
            text = same_measurement(text, name, [str(size) for size in spec.workload.record_sizes])
        drop_used_secrets(text, spec.targets, os.environ)
        with StudyView(quiet=silent) as view:
            return measure_study(spec, text, study_folder(name), view, storage=storage)
