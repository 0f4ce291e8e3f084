"""What an experiment will measure, as text and JSON."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import asdict
from statistics import mode
from typing import Any, Final

from runners.reporting import counted, percent
from runners.workload import Workload
from search_spaces.properties.catalogue import shown_values
from tuner.model.document import document
from tuner.model.experiment import ExperimentSpec
from tuner.model.row import Row
from tuner.model.target import Target
from tuner.present.number_text import aligned

_LOAD_COLUMNS: Final[Mapping[str, Callable[[Row], str]]] = {
    "record bytes": lambda row: str(row.workload.record_sizes),
    "compressible": lambda row: f"{row.workload.compressibility_ratio:g}",
    "payload": lambda row: "one" if row.workload.one_payload else "many",
    "partitions": lambda row: str(row.workload.partitions),
    "replicas": lambda row: str(row.workload.replication),
    "min.insync.replicas": lambda row: str(row.setup.min_insync_replicas or "-"),
    "producers": lambda row: str(row.setup.producers),
    "stored before": lambda row: f"{row.setup.stored_bytes / 1e9:g} GB" if row.setup.stored_bytes else "-",
    "consumers": lambda row: str(row.workload.consumers or "-"),
    "link": lambda row: "without" if row.setup.same_zone else "-",
    "producers in": lambda row: ", ".join(row.setup.placement.zones) or "-",
    "consumers in": lambda row: row.setup.placement.consumer_zone or "-",
    "rate": lambda row: (
        "full speed" if row.workload.rate_records_per_s is None else f"{row.workload.rate_records_per_s:g}/s"
    ),
    "peak": lambda row: "-" if row.workload.peak_ratio == 1 else f"{row.workload.peak_ratio:g} x",
    "keys": lambda row: _keys(row.workload),
    "warm-up": lambda row: f"{row.workload.warmup_s:g} s",
    "measured": lambda row: f"{row.workload.measured_s:g} s",
    "broker killed after": lambda row: "-" if (at_s := row.setup.broker_killed_s) is None else f"{at_s:g} s",
}


def planned_lines(spec: ExperimentSpec) -> list[str]:
    """Return what an experiment will do, as lines: its rows, its time and the bytes that it may send."""
    taken = datetime.timedelta(seconds=round(spec.planned_s))
    lines = [
        f"{spec.name}: {spec.about}",
        *([f"source: {spec.source}"] if spec.source else []),
        *(f"differs from the paper: {each}" for each in spec.differences),
        f"{counted(len(spec.rows), 'row')} in {counted(spec.rounds, 'round')}: "
        f"{counted(spec.measurements, 'measurement')}, about {taken}",
        f"at most {spec.most_bytes / 1e9:,.0f} GB are sent, and at most "
        f"{spec.safety.max_bytes_per_trial / 1e9:,.3g} GB in one measurement",
    ]
    burn_ins = spec.burn_ins
    lines.append(
        f"before the rounds, {counted(len(burn_ins), 'burn-in run')} at full speed, about "
        f"{sum(row.planned_s for row in burn_ins):.0f} s"
    )
    usual = _usual(spec)
    lines += [
        f"before the rows, the search {each.name}: method {each.study.search.method}, {each.study.search.trials} "
        f"trials for each record size: {', '.join(f'{size} B' for size in each.study.workload.record_sizes)}"
        for each in spec.searches
    ]
    columns = {name: [show(row) for row in spec.rows] for name, show in _LOAD_COLUMNS.items()}
    same = {name: shown[0] for name, shown in columns.items() if len(set(shown)) == 1}
    lines += [
        f"cluster: {_cluster(spec.target)}",
        f"client: {spec.client.label}; {shown_values(usual) or 'the defaults'}, unless the table says otherwise",
        *(
            [f"all rows: {', '.join(f'{name} {shown}' for name, shown in same.items() if shown != '-')}"]
            if same
            else []
        ),
        "",
    ]
    shown = {name: column for name, column in columns.items() if name not in same}
    shown["config"] = [_config(row, usual) for row in spec.rows]
    names = [row.name + (" (control)" if row.name == spec.control else "") for row in spec.rows]
    lines += aligned([("row", *shown), *zip(names, *shown.values(), strict=True)], right=False)
    checked = [each for each in spec.findings if each.comparisons_among(spec.rows)]
    if checked:
        lines += ["", "these findings are checked:", *(f"- {each.claim} [{each.source}]" for each in checked)]
    if left_out := len(spec.findings) - len(checked):
        lines.append(f"- {left_out} more only in the full version")
    return lines


def _keys(load: Workload) -> str:
    if not load.key_bytes:
        return "-"
    count = "all different" if load.different_keys is None else f"{load.different_keys:,}"
    skewed = f", {percent(load.most_frequent_key_ratio, decimals=1)} the same" if load.most_frequent_key_ratio else ""
    return f"{load.key_bytes} B, {count}{skewed}"


def _usual(spec: ExperimentSpec) -> dict[str, str]:
    """Return the most frequent value of each property that is given in more than half of the rows."""
    names = dict.fromkeys(name for row in spec.rows for name in row.config.values)
    given = {name: [row.config.values[name] for row in spec.rows if name in row.config.values] for name in names}
    return {name: mode(values) for name, values in given.items() if 2 * len(values) > len(spec.rows)}


def _unusual(values: Mapping[str, str], usual: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a row that differ from the usual ones."""
    differing = {name: value for name, value in values.items() if usual.get(name) != value}
    return differing | {name: "(default)" for name in usual if name not in values}


def _config(row: Row, usual: Mapping[str, str]) -> str:
    """Return the config of a row as text; if a search has not found the config yet, the name of the search."""
    if row.best_of is not None:
        return f"best for {row.best_of.goal} by {row.best_of.search}"
    return shown_values(_unusual(row.config.values, usual)) or "-"


def planned_json(spec: ExperimentSpec) -> dict[str, Any]:
    """Return what an experiment will do, as JSON types."""
    return document(
        "experiment_plan",
        name=spec.name,
        about=spec.about,
        source=spec.source,
        client=spec.client.identity,
        rounds=spec.rounds,
        measurements=spec.measurements,
        planned_s=spec.planned_s,
        most_bytes=spec.most_bytes,
        control=spec.control,
        searches=[
            {"search": each.name, "study": each.study.name, "planned_s": each.planned_s} for each in spec.searches
        ],
        rows=[
            {
                "row": row.name,
                "varied": dict(row.varied),
                "producers": row.setup.producers,
                "placement": list(row.setup.placement.zones),
                "consumer_zone": row.setup.placement.consumer_zone,
                "config": None if row.best_of is not None else row.config.values,
                "best_of": None if row.best_of is None else asdict(row.best_of),
                **{name: value for name, value in asdict(row.workload).items() if name != "record_sizes"},
                "record_bytes": str(row.workload.record_sizes),
            }
            for row in spec.rows
        ],
        findings=[asdict(finding) for finding in spec.findings],
    )


def _cluster(target: Target) -> str:
    if target.bootstrap is not None or target.container is not None:
        return target.label
    started = counted(target.brokers, "local broker")
    return f"{started}, behind {target.link}" if target.link else started
