"""The options that `tuner predict` has with and without a service."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from runners.quantities import duration_s
from runners.workload import MOST_COMPRESSIBLE, MOST_PARTITIONS, MOST_PRODUCERS, MOST_RATE_RECORDS_PER_S, MOST_REPLICAS
from search_spaces.files.properties_file import parse_pairs
from tuner.cli.options import common_options, workload_options
from tuner.model.errors import NotPredictable, RequestRefused
from tuner.prediction.changed_settings import LOAD_SETTINGS, ChangedSettings
from tuner.prediction.retention import Retention


def _retention_s(text: str) -> float:
    """Return the seconds of a retention time.

    A number without a unit is refused: `retention.ms` counts milliseconds, and a duration without a unit is in seconds.

    Raises:
        typer.BadParameter: The text is not a duration, or has no unit.
    """
    with suppress(ValueError):
        if not text.strip()[-1:].isdigit():
            return duration_s(text)
    raise typer.BadParameter(f"a retention time must read like 7d, 12h or 604800s, with its unit, but got {text!r}")


_OPTIONS: Final = {"set": "-X", "disk_bytes": "--disk", "retention_s": "--retention"}
"""The options that are not called like their parameter of the REST API."""


def option_of_parameter(name: str) -> str:
    """Return the option that sets a parameter of the REST API."""
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


@contextmanager
def refused_by_option() -> Iterator[None]:
    """Turn a `RequestRefused` in the block into an error about the option that sets the refused setting.

    Raises:
        typer.BadParameter: The block raised a `RequestRefused`.
    """
    try:
        yield
    except RequestRefused as error:
        hint = option_of_parameter(error.setting) if error.setting else None
        raise typer.BadParameter(str(error), param_hint=hint) from None


def refuse_unpredicted(record: Mapping[str, Any]) -> None:
    """Refuse predictions that lack what the user asked for: every value of a sweep, or the config in the last column.

    Args:
        record: The predictions, as `prediction_json` or a service returns them.

    Raises:
        NotPredictable: The measurements do not cover it.
    """
    reasons = [each.get("outside", "") for each in record["predictions"].values()]
    if all(reasons if "setting" in record else reasons[-1:]):
        raise NotPredictable.outside(record["study"], reasons[-1])


@dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """The options that `tuner predict` has with and without a service."""

    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "-X",
            "--what-if",
            metavar="KEY=VALUE",
            help="A producer property to change, such as linger.ms=20. It may be repeated.",
        ),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Properties file of a producer.",
            show_default="the config that the study recommends, or else its baseline. For an experiment: its "
            "control, or else the first row that the model describes",
        ),
    ] = None
    record_bytes: Annotated[str | None, workload_options.record_sizes(default="the first of the study")] = None
    rate: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=MOST_RATE_RECORDS_PER_S,
            metavar="N",
            help="Records per second, for the latency and the stored bytes.",
            show_default="that of the study",
        ),
    ] = None
    partitions: Annotated[
        int | None, typer.Option(min=1, max=MOST_PARTITIONS, metavar="N", help="Partitions of the topic.")
    ] = None
    replication: Annotated[
        int | None, typer.Option(min=1, max=MOST_REPLICAS, metavar="N", help="Replicas of each partition.")
    ] = None
    producers: Annotated[
        int | None, typer.Option(min=1, max=MOST_PRODUCERS, metavar="N", help="Producers that share the load.")
    ] = None
    compressibility: Annotated[
        float | None,
        typer.Option(
            min=0, max=MOST_COMPRESSIBLE, metavar="RATIO", help="Share of each value that compression can remove."
        ),
    ] = None
    sweeps: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="SETTING=VALUES",
            help="Predict for each value of a property or of a load option: linger.ms=0,5,20 or partitions=1..24.",
        ),
    ] = None
    disk: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE",
            parser=common_options.parse_size,
            help="Size of a broker's disk, such as 2TB, to learn after how long it is full.",
        ),
    ] = None
    brokers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="With --disk or a retention limit: number of brokers that share the replicas.",
            show_default="the number of replicas",
        ),
    ] = None
    retention: Annotated[
        float | None,
        typer.Option(
            metavar="TIME", parser=_retention_s, help="The topic's retention.ms, as a time with its unit: 12h or 7d."
        ),
    ] = None
    retention_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE",
            parser=common_options.parse_size,
            help="The topic's retention.bytes, of each partition, such as 10GB.",
        ),
    ] = None

    @property
    def sweep(self) -> str | None:
        """The setting and its values for which to predict; None for a single prediction.

        Raises:
            typer.BadParameter: The user gave several.
        """
        if self.sweeps and len(self.sweeps) > 1:
            raise typer.BadParameter(
                f"--sweep takes one setting, but got {' and '.join(self.sweeps)}; run the command once for each"
            )
        return self.sweeps[0] if self.sweeps else None

    def limits(self) -> Retention | None:
        """Return the retention limits and the disks from the options; None if no such option was given.

        Raises:
            typer.BadParameter: A value is too small, or options need or exclude each other.
        """
        swept = self.sweep is not None
        with refused_by_option():
            return Retention.from_request(self.retention, self.retention_bytes, self.disk, self.brokers, swept=swept)

    def changes(self) -> ChangedSettings:
        """Return the settings that differ from those of the study.

        Raises:
            PropertiesFileError: A pair has no `=` or no key, or a key is repeated.
            typer.BadParameter: A pair sets the load, which has options of its own.
        """
        load = {name: getattr(self, name) for name in LOAD_SETTINGS}
        properties = parse_pairs(self.pairs or [])
        for name in properties:
            if name.replace("-", "_") in LOAD_SETTINGS:
                raise typer.BadParameter(
                    f"{name} is no property, but a setting of the load; use {option_of_parameter(name)}",
                    param_hint="-X",
                )
        return ChangedSettings(**load, properties=properties)

    def as_query(self) -> dict[str, Any]:
        """Return the equivalent parameters of the service's REST resource, without the properties."""
        return {
            "begin": "study" if self.config is None else "defaults",
            **{name: getattr(self, name) for name in LOAD_SETTINGS},
            "sweep": self.sweep,
            "disk_bytes": self.disk,
            "brokers": self.brokers,
            "retention_s": self.retention,
            "retention_bytes": self.retention_bytes,
        }
