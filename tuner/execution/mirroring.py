"""Copies the results of a running study or experiment to MLflow: the protocol of a mirror, and how a mirror ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from runners.reporting import counted
from tuner.model.progress import StudyState, state_after
from tuner.model.secrets_in_urls import secrets_in
from tuner.model.spec import TrackingSpec
from tuner.model.target import Target

_MIRROR_PATIENCE_S: Final = 60.0
"""The longest wait for MLflow at the regular end of a study."""
_PATIENCE_AFTER_ERROR_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """How much of a study was copied to its mirror, which is MLflow.

    Attributes:
        runs_written: The number of MLflow runs that were created or changed.
        trials_behind: The number of stored trials that the mirror may not show yet.
        uri: The address of the mirror, without its password.
        error: Why some trials are missing in the mirror; None if there was no error.
    """

    runs_written: int
    trials_behind: int
    uri: str
    error: str | None

    def missing(self, study: str) -> str:
        """Return how much of a study may be missing in MLflow, and why; `error` must not be None."""
        behind = counted(self.trials_behind, "trial")
        return f"MLflow at {self.uri} may lack {behind} of {study}: {self.error}"


class Mirror(Protocol):
    """Copies the results of a running study to another place, such as MLflow.

    The study never waits for its mirror, and an error in the mirror never ends the study.
    """

    def start(self, remember: Callable[[str, Any], None]) -> None:
        """Start the mirror.

        Args:
            remember: Takes a name and a value, such as the address of the copy, and stores them as a fact about the
                study. Any thread may call it.
        """

    def poke(self) -> None:
        """Tell the mirror that there are new trials to copy, and return immediately."""

    def behind(self, stored: int) -> int:
        """Return how many of the `stored` trials the mirror may not show yet, without waiting."""

    def finish(self, timeout_s: float, state: StudyState) -> SyncOutcome:
        """Wait until all trials are copied, for at most `timeout_s` seconds, and stop the mirror."""


def finish_mirror(
    mirror: Mirror, name: str, say: Callable[[str], None], kind: type[BaseException] | None, *_: object
) -> None:
    """Stop the copying of results to MLflow, and tell the user if results are missing there.

    At the regular end we wait up to a minute for the copying, but only a few seconds after an error or Ctrl-C. `kind`
    and the arguments after it are those of `__exit__`.
    """
    outcome = mirror.finish(_MIRROR_PATIENCE_S if kind is None else _PATIENCE_AFTER_ERROR_S, state_after(kind))
    if outcome.trials_behind or (outcome.error and kind is None):
        say(
            f"MLflow ({outcome.uri}) does not show all results yet: {outcome.error or 'there was too little time'}; "
            f"to bring it up to date, run: tuner sync {name}"
        )


def mlflow_experiment(targets: Sequence[Target], host: str | None, *, simulated: bool = False) -> str:
    """Return the default name of a study's MLflow experiment, such as `kafka-tuner/embedded on build-7`.

    Args:
        targets: The clusters that are measured.
        host: The name of this host, which is a part of the result if the brokers are started here; None if the host's
            name changes with each start.
        simulated: Whether a model computes the measurements, without any cluster.
    """
    if simulated:
        return "kafka-tuner/simulated"
    named = ", ".join(target.label for target in targets)
    here = host is not None and any(target.bootstrap is None for target in targets)
    return f"kafka-tuner/{named}{f' on {host}' if here else ''}"


def tracking_fact(tracking: TrackingSpec) -> dict[str, Any]:
    """Return the MLflow settings to store, without a URI that has a password: `tracking_of` reads the study file."""
    return {
        "uri": None if secrets_in(tracking.uri or "") else tracking.uri,
        "experiment": tracking.experiment,
        "enabled": tracking.enabled,
    }
