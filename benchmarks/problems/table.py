"""Tables of numbers that somebody measured, as files: what they were taken with, one row per config and record size.

A file is CSV in UTF-8. It begins with lines `# name: value` on how it was taken, of which these have a meaning here:

    title, source           both must be there
    base                    properties of every row, as `name=value` with blanks between
    partitions, compressibility_ratio
                            of the load; what is not said is not compared
    rate_records_per_s      rate of the paced phase; a column of that name says it by row
    note                    what a reader must know; may come several times

Then come a line of column names and the rows. `record_bytes` is the size of a value (or a mix, `100:70,1000:30`),
`config` holds further properties of the row as `name=value`, and a column named like a property holds that property (an
empty cell leaves it out). `repeat`, `table` and `comment` are for people. Every other column is a metric under its name
in `objectives.outcome`, an empty cell being one that was not measured. Rows of one size and config are repeats.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Final, Self

from runners.errors import WorkloadRefused
from runners.workload import RecordSizes
from search_spaces.catalogue import load_catalogue
from search_spaces.errors import ConfigError
from search_spaces.producer_config import ProducerConfig, same_effect

_FOR_PEOPLE: Final = ("repeat", "table", "comment")
_MOST_NAMED: Final = 3


class UnreadableTable(ValueError):  # noqa: N818 - names say what happened
    """A file is no table as described in this module; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One config at one record size, measured once.

    Attributes:
        sizes: Of the values.
        config: Under test.
        metrics: Numbers by name, units at their ends.
        rate_records_per_s: Of the paced phase; None if there was none, or it is not known.
    """

    sizes: RecordSizes
    config: ProducerConfig
    metrics: Mapping[str, float]
    rate_records_per_s: float | None


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A whole table. Picklable.

    Attributes:
        title: What it is called.
        source: Who measured it, and where that is published.
        facts: Everything its head says, by name; the first of several.
        notes: What a reader must know.
        rows: In the file's order.
    """

    title: str
    source: str
    facts: Mapping[str, str]
    notes: tuple[str, ...]
    rows: tuple[Row, ...]

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            UnreadableTable: It can't be read, or is no such table.
        """
        try:
            return cls.parse(path.read_text(encoding="utf-8"), name=path.name)
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableTable(f"a table must be a readable UTF-8 file, but {path} is not: {error}") from None

    @classmethod
    def parse(cls, text: str, name: str = "table") -> Self:
        """Read the text of a file; `name` is what errors call it.

        Raises:
            UnreadableTable: It is no such table.
        """
        lines = text.splitlines()
        head = [line[1:].partition(":") for line in takewhile(lambda line: line.startswith("#"), lines)]
        said = [(key.strip(), value.strip()) for key, _, value in head]
        facts = dict(reversed(said))
        for needed in ("title", "source"):
            if not facts.get(needed):
                raise UnreadableTable(f"a table's head must have a line `# {needed}: ...`, but that of {name} has none")
        reader = csv.DictReader(lines[len(head) :], strict=True)
        if "record_bytes" not in (reader.fieldnames or ()):
            raise UnreadableTable(f"a table must have a column record_bytes, but {name} has {reader.fieldnames}")
        rows = tuple(_row(each, facts, f"{name}, line {reader.line_num + len(head)}") for each in reader)
        notes = tuple(value for key, value in said if key == "note")
        return cls(facts["title"], facts["source"], facts, notes, rows)

    def find(self, config: ProducerConfig, sizes: RecordSizes) -> tuple[Row, ...]:
        """The rows of a config, one per repeat; a config that spells a default out is the same as one that does not.

        Raises:
            WorkloadRefused: It is not in the table; the message names what is.
        """
        there = [row for row in self.rows if row.sizes == sizes]
        found = tuple(row for row in there if row.config == config) or tuple(
            row for row in there if same_effect(row.config.in_force, config.in_force)
        )
        if not found:
            raise WorkloadRefused(
                f"a table answers only for what was measured, but {self.title} has no row for {sizes} B with "
                f"{_text(config)}; {self._contents(there)}"
            )
        return found

    def _contents(self, there: Sequence[Row]) -> str:
        if not there:
            return f"it has record sizes {', '.join(dict.fromkeys(str(row.sizes) for row in self.rows))}"
        configs = list(dict.fromkeys(row.config for row in there))
        some = "; ".join(_text(config) for config in configs[:_MOST_NAMED])
        return f"for that size it has {len(configs)} configs: {some}{'; ...' if len(configs) > _MOST_NAMED else ''}"


def thesis_tables() -> MeasuredTable:
    """Tables 14 to 22 of De Vos Meaker (2020): the Java producer under a saturating load, 60 cells."""
    return _shipped("thesis_tables_14_to_22.csv")


def embedded_grid() -> MeasuredTable:
    """168 configs of 1 kB records on an embedded broker, each once, and the defaults 17 times: measured by us."""
    return _shipped("embedded_1000_bytes.csv")


def _shipped(name: str) -> MeasuredTable:
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    return MeasuredTable.parse(text, name=name)


def _row(cells: Mapping[str | None, str | None], facts: Mapping[str, str], where: str) -> Row:
    if None in cells or None in cells.values():
        raise UnreadableTable(f"every row must have as many cells as there are columns, but {where} has not")
    texts = {name: text for name, text in cells.items() if name is not None and text}
    properties = dict(_pairs(facts.get("base", ""), where))
    properties.update(_pairs(texts.pop("config", ""), where))
    metrics: dict[str, float] = {}
    sizes, rate = texts.pop("record_bytes", ""), texts.pop("rate_records_per_s", facts.get("rate_records_per_s"))
    for name, text in texts.items():
        if name in _names():
            properties[name] = text
        elif name not in _FOR_PEOPLE:
            metrics[name] = _number(text, f"{name} in {where}")
    try:
        return Row(
            RecordSizes.parse(sizes),
            ProducerConfig.parse(properties),
            metrics,
            _number(rate, f"rate_records_per_s in {where}") if rate else None,
        )
    except (ConfigError, WorkloadRefused) as error:
        raise UnreadableTable(f"{where}: {error}") from None


def _pairs(text: str, where: str) -> Iterable[tuple[str, str]]:
    for pair in text.split():
        name, equals, value = pair.partition("=")
        if not equals:
            raise UnreadableTable(f"properties must read name=value, with blanks between, but {where} has {pair!r}")
        yield name, value


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UnreadableTable(f"a metric must be a number, but {where} is {text!r}") from None


@lru_cache
def _names() -> frozenset[str]:
    return frozenset(entry.name for entry in load_catalogue())


def _text(config: ProducerConfig) -> str:
    return " ".join(f"{name}={value}" for name, value in config.pairs) or "the client's defaults"
