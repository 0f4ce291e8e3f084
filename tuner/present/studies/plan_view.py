"""The plan of a study: what it would do, how long it would take, and what it would search."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from rich.table import Table

from runners.reporting import counted, duration, in_bytes
from runners.workload import RecordSizes
from search_spaces.client import Client, ClientKind
from search_spaces.properties.catalogue import shown_value
from search_spaces.space.search_space import SearchSpace
from tuner.execution.budgets import estimate
from tuner.model.document import document
from tuner.model.spec import Executor, Method, StudySpec
from tuner.model.study_time import OVERHEAD_S, burn_in_trials, rounds_on_new_brokers, spreads_rounds, trial_s
from tuner.present.changed_properties import changed_values
from tuner.present.console import Unwrapped
from tuner.present.tables import csv_of
from tuner.search.expectation import begins_with_model
from tuner.search.schedule import searched_from, trials_in_all

_UNITS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def plan_json(
    spec: StudySpec, spaces: Mapping[RecordSizes, SearchSpace], mb_per_s: float, targets: Sequence[str]
) -> dict[str, Any]:
    """Return the plan of a study as JSON values, in the form of `tuner plan --json`.

    Args:
        spec: The study.
        spaces: The search space of each record size.
        mb_per_s: The throughput that the user expects at full speed.
        targets: The names of the study's targets.
    """
    trials = {size: trials_in_all(spec.search, space, spec.baseline) for size, space in spaces.items()}
    seconds = estimate.planned_s(spec, spaces.values())
    return document(
        "plan",
        study=spec.name,
        client={"kind": str(spec.client.kind), "version": spec.client.version},
        baseline=dict(spec.baseline.values),
        targets=list(targets),
        seconds_per_trial=trial_s(spec),
        seconds=seconds,
        seconds_at_least=estimate.least_s(spec),
        bytes_at_most=estimate.most_bytes(spec, seconds, mb_per_s),
        assumed_mb_per_s=mb_per_s,
        sizes=[
            {
                "record_bytes": str(size),
                "trials": trials[size],
                "grid_combinations": space.grid_size(spec.search.grid_steps),
                "raw_grid_combinations": space.raw_grid_size(spec.search.grid_steps),
                "rules": list(space.rules),
                "fixed": space.fixed,
                "parameters": [
                    {
                        "name": parameter.name,
                        "unit": parameter.unit,
                        "range": parameter.text,
                        "default": parameter.default,
                        "source": parameter.source,
                        "searched_from_configs": _searched_from(spec, space).get(parameter.name, 0),
                    }
                    for parameter in space.parameters
                ],
            }
            for size, space in spaces.items()
        ],
        sessions=_sessions_text(spec),
        creates=_creates(spec),
    )


def plan_warning(spec: StudySpec, mb_per_s: float) -> str:
    """Return a sentence about the study's limit on bytes if it is probably too low; empty if it is not."""
    limit, least_bytes = spec.search.max_bytes, estimate.least_bytes(spec, mb_per_s)
    if limit is None or limit >= least_bytes:
        return ""
    return (
        f"at {mb_per_s:g} MB/s, {_size(limit)} is too little for {_shortest(spec)}, which "
        f"{'take' if spec.confirm.rounds else 'takes'} {_size(least_bytes)}"
    )


def print_plan(
    spec: StudySpec, spaces: Mapping[RecordSizes, SearchSpace], record: Mapping[str, Any], out: Unwrapped
) -> None:
    """Print the plan of a study; `record` is what `plan_json` returned."""
    own = " ".join(map(str, changed_values(spec.client, spec.baseline.values, {})))
    out.show(*_lines(spec, record, own))
    for sizes, space in spaces.items():
        _print_space(spec, sizes, space, out, with_baseline=bool(own))


def plan_csv(record: Mapping[str, Any]) -> str:
    """Return the knobs of a plan as CSV, one line for each record size and knob."""
    return csv_of(
        {"record_bytes": size["record_bytes"], **knob} for size in record["sizes"] for knob in size["parameters"]
    )


def _size(size_bytes: float) -> str:
    unit, name = next(((unit, name) for unit, name in _UNITS if size_bytes >= unit), (1, "B"))
    return f"{size_bytes / unit:,.0f} {name}"


def _shortest(spec: StudySpec) -> str:
    return f"a search of a few trials{' and the shortest confirmation' if spec.confirm.rounds else ''}"


def _client(client: Client) -> str:
    """Return a client with its version, and what users of the Java client should expect."""
    if client.kind is ClientKind.JAVA:
        return f"Java {client.version} (its jars are fetched when it is first used)"
    return client.label


def _lines(spec: StudySpec, record: Mapping[str, Any], own: str) -> Iterator[str]:
    yield f"study     {spec.name}, {spec.search.method}, seed {spec.search.seed}"
    yield f"target    {', '.join(record['targets'])}"
    yield f"client    {_client(spec.client)}"
    yield f"optimises {', '.join(objective.metric for objective in spec.objectives)}"
    yield "baseline  " + (own or "the client's defaults")
    yield from (f"          {note}" for note in spec.baseline_notes)
    if spec.constraints:
        yield f"limits    {' and '.join(map(str, spec.constraints))}, for a recommended config"
    most = estimate.most_confirm_trials(spec)
    for size in record["sizes"]:
        many = "as many as time allows" if size["trials"] is None else f"{size['trials']}"
        confirmed = f", after them up to {most} measurements to confirm the winners" if spec.confirm.rounds else ""
        yield (
            f"trials    {in_bytes(size['record_bytes'])}: {many}, {trial_s(spec):g} s each; before them up to "
            f"{burn_in_trials(spec)} burn-in runs{confirmed}"
        )
    if record["sessions"]:
        yield f"rounds    {record['sessions']}"
    yield f"time      {_time_text(spec, record['seconds'])}"
    yield f"shortest  {_at_least(record['seconds_at_least'])} is possible, with {_shortest(spec)}"
    written = record["bytes_at_most"]
    if written is None:
        yield "bytes     as many as time allows; set search.max_bytes to limit them"
    else:
        of_study = written == spec.search.max_bytes
        limit = " (the study's limit)" if of_study else f", if a trial writes {record['assumed_mb_per_s']:g} MB/s"
        none = "none; a real study would send " if spec.executor is Executor.SIMULATED else ""
        yield f"bytes     {none}at most {_size(written)}{limit}"
    yield f"creates   {record['creates']}"


def _print_space(
    spec: StudySpec, sizes: RecordSizes, space: SearchSpace, out: Unwrapped, *, with_baseline: bool
) -> None:
    out.print()
    out.show(f"search space for {in_bytes(sizes)}", style="bold")
    headings = ("knob", "range", "unit", "client's default", *(["baseline"] if with_baseline else []))
    table = Table(*headings, box=None, pad_edge=False)
    for parameter in space.parameters:
        default = shown_value(parameter.name, parameter.default)
        # The level of a codec has a row for each codec, and no single value.
        one = parameter.name == parameter.sets
        now = shown_value(parameter.name, spec.baseline.effective(parameter.name)) if one and with_baseline else ""
        table.add_row(parameter.name, parameter.text, parameter.unit, default, now)
    out.print(table)
    trials = trials_in_all(spec.search, space, spec.baseline)
    if waiting := _later_knobs_text(_searched_from(spec, space), trials):
        out.show(f"{waiting}; name a knob under space in the study file to search it from the beginning")
    steps = spec.search.grid_steps
    out.show(f"with --method grid and up to {steps} values per knob: {space.combinations_text(steps)}")
    out.show(*(f"  rule: {rule}" for rule in space.rules))
    if space.fixed:
        fixed = ", ".join(f"{name}={shown_value(name, value)}" for name, value in sorted(space.fixed.items()))
        out.show(f"  in every config: {fixed}")


def _searched_from(spec: StudySpec, space: SearchSpace) -> dict[str, int]:
    """Return the knobs that are varied later, each with the number of configs that are measured before."""
    if spec.search.method is not Method.BAYESIAN:
        return {}
    return searched_from(space, knows_effects=begins_with_model(spec))


def _later_knobs_text(begin: dict[str, int], trials: int | None) -> str:
    """Return a text with the knobs that are searched later or, in so few trials, not at all; empty if there are none.

    Args:
        begin: By knob, how many configs are measured before it is searched.
        trials: How many trials the search has; None if the number is open.
    """
    reached = {name: known for name, known in begin.items() if trials is None or known < trials}
    together = groupby(sorted(reached, key=reached.__getitem__), reached.__getitem__)
    later = [
        f"{', '.join(names)} after {'the first config' if known == 1 else f'{known} configs'}"
        for known, names in together
        if known
    ]
    never = [name for name in begin if name not in reached]
    return "; ".join(
        [
            *(["searched later: " + ", then ".join(later)] if later else []),
            *([f"not searched in {trials} trials: {', '.join(never)}"] if never else []),
        ]
    )


def _sessions_text(spec: StudySpec) -> str:
    """Return a text about what each round begins with; empty if the rounds follow one another."""
    most, parts = estimate.most_rounds(spec), []
    if not most:
        return ""
    if rounds_on_new_brokers(spec):
        added = duration(estimate.sessions_s(spec))
        parts.append(
            f"each of up to {most} rounds is measured on newly started brokers, which adds up to {added} for a record "
            "size (confirm.new_broker)"
        )
    if spreads_rounds(spec):
        parts.append(_spread_text(spec))
    if spec.confirm.spread_over_s:
        over = duration(spec.confirm.spread_over_s)
        gap = duration(spec.confirm.gap_s)
        parts.append(
            f"up to {most} rounds are spread over at most {over} for a record size, {gap} apart (confirm.spread_over)"
        )
    return "; ".join(parts)


def _spread_text(spec: StudySpec) -> str:
    """Return a text about how much of the time the rounds get, if they are spread by default."""
    each_s, own_s = trial_s(spec) + OVERHEAD_S, estimate.time_per_size_s(spec)
    kept_s = estimate.spread_s(spec, own_s, each_s)
    if kept_s:
        apart = duration(estimate.gap_s(spec, kept_s, each_s))
        return (
            f"{duration(own_s)} per record size, {duration(kept_s)} of them for at least {spec.confirm.rounds} rounds "
            f"that begin {apart} or more apart (confirm.spread_over: 0s turns it off)"
        )
    return (
        "the rounds run one after another, so the gain holds only for that time: to spread them, a record size needs "
        f"{_at_least(1.5 * estimate.least_spread_s(spec, each_s))}, but has {duration(60 * math.floor(own_s / 60))}"
    )


def _at_least(seconds: float) -> str:
    """Return the least duration that is enough, in whole minutes."""
    return duration(60 * math.ceil(seconds / 60))


def _time_text(spec: StudySpec, seconds: float | None) -> str:
    needed = " if all rounds are needed" if spec.confirm.rounds else ""
    parts = [] if seconds is None else [f"about {duration(seconds)}{needed}"]
    if parts and spec.search.stops_early:
        parts.append("trials that can no longer win are stopped early, so it may take less")
    if spec.search.until is not None:
        parts.append(f"no trial of the search starts after {spec.search.until}")
    return "; ".join(parts) or "until you stop it"


def _creates(spec: StudySpec) -> str:
    load, target = spec.workload, spec.targets[0]
    if spec.executor is Executor.SIMULATED:
        return "nothing; a model computes the numbers, and nothing is sent"
    if target.topic is not None:
        return f"nothing; the study writes to your topic {target.topic}, and its records stay there"
    made = f"{counted(load.partitions, 'partition')}, replication {load.replication}"
    like = f"like {target.like}" if target.like else made
    where = "on your cluster" if target.bootstrap is not None else "on a broker that is started for the study"
    return f"one topic at a time {where} (tuner-..., {like}), deleted after its trial"
