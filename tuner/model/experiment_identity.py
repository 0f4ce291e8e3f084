"""The settings that an experiment's measurements depend on, and the check that stored measurements have the same."""

from collections.abc import Mapping, Set
from dataclasses import asdict
from typing import Any, Final

from runners.workload import LATER_SETTINGS
from tuner.model.errors import StudyChanged
from tuner.model.experiment import ExperimentSpec
from tuner.model.facts import EXPERIMENT, IDENTITY
from tuner.model.row import Row

# The first release with experiments had consumers.
_LATER: Final = {name: usual for name, usual in LATER_SETTINGS.items() if name != "consumers"}


def check_same_rows(spec: ExperimentSpec, facts: Mapping[str, Any], searched: Set[str] = frozenset()) -> None:
    """Check that an experiment has the same rows as the stored one. The configs of rows in `searched` may differ.

    Raises:
        StudyChanged: The experiment has other rows, or a study is stored.
    """
    if EXPERIMENT not in facts:
        raise StudyChanged(
            f"{spec.name} is the name of a study, so an experiment can't have it; give the experiment file another "
            "name (`experiment:`)"
        )

    def comparable(identity: Mapping[str, Any]) -> dict[str, Any]:
        return {name: {**each, "config": None} if name in searched else each for name, each in identity.items()}

    if changed := _changes(comparable(experiment_identity(spec)), comparable(facts[IDENTITY])):
        raise StudyChanged(
            f"the experiment {spec.name} can only be resumed with the rows that it began with, but these differ: "
            f"{', '.join(changed)}; restore them, or give the experiment another name (`experiment:` in its file)"
        )


def experiment_identity(spec: ExperimentSpec) -> dict[str, Any]:
    """Return everything that the measurements depend on: the target, and each row by its name. Secrets are left out."""
    target = spec.target
    link = target.link and target.link.as_settings()
    return {
        "target": [target.bootstrap, target.container, target.brokers, target.topic, target.like, link],
        **{f"row {row.name}": _row_identity(row) for row in spec.rows},
    }


def _row_identity(row: Row) -> dict[str, Any]:
    load = {**asdict(row.workload), "record_sizes": str(row.workload.record_sizes)}
    load = {name: value for name, value in load.items() if name not in _LATER or value != _LATER[name]}
    setup = asdict(row.setup)
    setup |= setup.pop("placement")
    setup = {name: value for name, value in setup.items() if value not in (None, ())}
    if row.setup.placement.zones:
        setup["zones"] = list(row.setup.placement.zones)  # as it is stored
    return {"client": row.config.client.identity, "config": row.config.values, "load": load, **setup}


def _changes(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
