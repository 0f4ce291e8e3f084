"""Reads files with tables of measurements, which have a head and one row for each measurement of a config.

The head says how the measurements were made.

A file is CSV in UTF-8. It begins with lines of the form `# name: value`. These names have a meaning here:

    title, source           required
    client                  the client that was measured: with `java 4.3.1`, all properties are read as that client's;
                            with any other text, or without it, they are librdkafka's
    base                    properties of every row, as `name=value` separated by blanks
    partitions, replication, compressibility_ratio
                            the load of the measurements
    rate_records_per_s      rate of the paced phase, unless a column of this name gives it for each row
    megabyte_bytes          bytes of a megabyte in the column mb_per_s, if it is not 1,000,000; the values are converted
                            when the table is read
    note                    something that a reader of the file must know; may be given several times; ignored here

Then follow a line with the names of the columns, and the rows:

    record_bytes            size of a value in bytes, or a mix of sizes such as `100:70,1000:30`
    config                  further properties of the row, as `name=value` separated by blanks
    producers               number of producers that shared the load; 1 without this column
    a property's name       value of that property; an empty cell leaves the property out
    repeat, table, comment  for readers; ignored here
    any other name          a metric of `objectives.metrics`; an empty cell means that it was not measured

Several rows with the same record size and config are repeats.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Final, Self

from runners.errors import WorkloadRefused
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, ClientKind, client_of, librdkafka
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError, UnknownClient

_PHASES_S: Final = re.compile(r"([\d.]+) \+ ([\d.]+) s\b")
"""The warm-up and the measured phase in the words with which the head of a table states them: `0.5 + 1.5 s`."""
_MEGABYTE_BYTES: Final = 1_000_000
_FOR_PEOPLE: Final = ("repeat", "table", "comment")


class UnreadableTable(ValueError):
    """A table of measurements can't be read; the message names the place and the reason."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement of one config with one record size.

    Attributes:
        sizes: The record size, or a mix of sizes.
        config: The config that was measured.
        metrics: The measured values, by the name of the metric.
        rate_records_per_s: The rate of the paced phase; None if there was no paced phase, or if the rate is unknown.
        producers: Number of producers that shared the load.
    """

    sizes: RecordSizes
    config: ProducerConfig
    metrics: Mapping[str, float]
    rate_records_per_s: float | None
    producers: int = 1


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A table of measurements. It can be pickled.

    Attributes:
        title: The title of the table.
        source: Who measured it, and where it is published.
        facts: All values in the head of the file, by name. If a name is given several times, its first value.
        rows: The rows, in the order of the file.
    """

    title: str
    source: str
    facts: Mapping[str, str]
    rows: tuple[Row, ...]

    def load_of(self, row: Row) -> Workload:
        """Return the load of a row's measurement. The head must have `partitions` and `compressibility_ratio`."""
        load = Workload(
            row.sizes,
            compressibility_ratio=float(self.facts["compressibility_ratio"]),
            partitions=int(self.facts["partitions"]),
            replication=int(self.facts.get("replication", 1)),
            rate_records_per_s=row.rate_records_per_s,
        )
        phases = _PHASES_S.search(self.facts.get("how", ""))
        return load if phases is None else replace(load, warmup_s=float(phases[1]), measured_s=float(phases[2]))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a table from a file.

        Raises:
            UnreadableTable: The file can't be read, or does not have the format of a table.
        """
        try:
            return cls.parse(path.read_text(encoding="utf-8"), name=path.name)
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableTable(f"a table must be a readable UTF-8 file, but {path} is not: {error}") from None

    @classmethod
    def parse(cls, text: str, name: str = "table") -> Self:
        """Read a table from the text of a file.

        Args:
            text: The text.
            name: The name of the file for error messages.

        Raises:
            UnreadableTable: The text does not have the format of a table.
        """
        lines = text.splitlines()
        head = [line[1:].partition(":") for line in takewhile(lambda line: line.startswith("#"), lines)]
        said = [(key.strip(), value.strip()) for key, _, value in head]
        facts = dict(reversed(said))
        for needed in ("title", "source"):
            if not facts.get(needed):
                raise UnreadableTable(f"a table must begin with a line `# {needed}: ...`, but {name} has no such line")
        reader = csv.DictReader(lines[len(head) :], strict=True)
        if "record_bytes" not in (reader.fieldnames or ()):
            raise UnreadableTable(
                f"a table must have a column record_bytes, but the columns of {name} are {reader.fieldnames}"
            )
        client = _client(facts.get("client", ""), name)
        rows = tuple(_row(each, facts, client, f"{name}, line {reader.line_num + len(head)}") for each in reader)
        return cls(facts["title"], facts["source"], facts, rows)


def thesis_tables() -> MeasuredTable:
    """Return tables 14 to 22 of De Vos Meaker (2020): the Java producer under a saturating load, 60 rows."""
    return _shipped("thesis_tables_14_to_22.csv")


def embedded_grid() -> MeasuredTable:
    """Return our own measurements with 1 kB records on an embedded broker: 168 configs once, the defaults 17 times."""
    return _shipped("embedded_1000_bytes.csv")


def java_grid() -> MeasuredTable:
    """Return a table like `embedded_grid` for the Java client 4.3.1 with its own values, measured in four rounds."""
    return _shipped("embedded_1000_bytes_java.csv")


def small_records_java_grid() -> MeasuredTable:
    """Return a table like `java_grid` with records of 100 B."""
    return _shipped("embedded_100_bytes_java.csv")


def small_records_grid() -> MeasuredTable:
    """Return a table like `embedded_grid` with records of 100 B."""
    return _shipped("embedded_100_bytes.csv")


def large_records_grid() -> MeasuredTable:
    """Return a table like `embedded_grid` with records of 10 kB, measured in two rounds."""
    return _shipped("embedded_10000_bytes.csv")


def three_brokers_grid() -> MeasuredTable:
    """Return a table like `embedded_grid` on three embedded brokers, with three replicas."""
    return _shipped("three_brokers_1000_bytes.csv")


def undisturbed_grid() -> MeasuredTable:
    """Return a table like `embedded_grid`, measured in four rounds while nothing else ran on the host.

    It also has the sizes of batches and the bytes on the wire.
    """
    return _shipped("embedded_1000_bytes_undisturbed.csv")


def producers_table() -> MeasuredTable:
    """Return six configs, at full speed and at a rate, with one, two and three producers."""
    return _shipped("several_producers.csv")


def unseen_rates_table() -> MeasuredTable:
    """Return latencies of six configs at rates of 5 to 80 % of their throughput, with a consumer beside.

    No formula of the performance model was derived from it. The form of the wait after pauses was derived from six
    other configs, which are in `rates_with_consumer.csv` beside it.
    """
    return _shipped("unseen_rates_with_consumer.csv")


def _shipped(name: str) -> MeasuredTable:
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    return MeasuredTable.parse(text, name=name)


def _client(said: str, name: str) -> Client:
    """Return the client that the head of a table names."""
    if said.partition(" ")[0] != ClientKind.JAVA:
        return librdkafka()
    try:
        return client_of(said)
    except UnknownClient as error:
        raise UnreadableTable(f"{name}: {error}") from None


def _row(cells: Mapping[str | None, str | None], facts: Mapping[str, str], client: Client, where: str) -> Row:
    """Read a row from its cells.

    Raises:
        UnreadableTable: The row does not have the format of a table.
    """
    if None in cells or None in cells.values():
        raise UnreadableTable(
            f"every row must have as many cells as there are columns, but {where} has a different number"
        )
    texts = {name: text for name, text in cells.items() if name is not None and text}
    properties = dict(_pairs(facts.get("base", ""), where))
    properties.update(_pairs(texts.pop("config", ""), where))
    metrics: dict[str, float] = {}
    producers = round(_number(texts.pop("producers", "1"), f"producers in {where}"))
    sizes, rate = texts.pop("record_bytes", ""), texts.pop("rate_records_per_s", facts.get("rate_records_per_s"))
    for name, text in texts.items():
        if name in client.catalogue:
            properties[name] = text
        elif name not in _FOR_PEOPLE:
            metrics[name] = _number(text, f"{name} in {where}")
    if "mb_per_s" in metrics:
        megabyte_bytes = _number(facts.get("megabyte_bytes", str(_MEGABYTE_BYTES)), f"megabyte_bytes of {where}")
        metrics["mb_per_s"] *= megabyte_bytes / _MEGABYTE_BYTES
    try:
        return Row(
            RecordSizes.parse(sizes),
            ProducerConfig.parse(properties, client=client),
            metrics,
            _number(rate, f"rate_records_per_s in {where}") if rate else None,
            producers,
        )
    except (ConfigError, WorkloadRefused) as error:
        raise UnreadableTable(f"{where}: {error}") from None


def _pairs(text: str, where: str) -> Iterable[tuple[str, str]]:
    """Yield the names and values of properties that are written as `name=value`, separated by blanks."""
    for pair in text.split():
        name, equals, value = pair.partition("=")
        if not equals:
            raise UnreadableTable(
                f"properties must be written as name=value and separated by blanks, but {where} has {pair!r}"
            )
        yield name, value


def _number(text: str, where: str) -> float:
    """Return the number in a cell. For error messages, `where` names the cell's place in the file."""
    try:
        return float(text)
    except ValueError:
        raise UnreadableTable(f"a metric must be a number, but {where} is {text!r}") from None
