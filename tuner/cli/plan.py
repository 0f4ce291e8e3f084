"""`tuner init`, `tuner plan` and `tuner schema`: the verbs about study files that need no cluster."""

import datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from runners.clusters.topics import DEFAULT_MAX_MESSAGE_BYTES
from runners.reporting import counted
from runners.workload import RecordSizes
from search_spaces.space import SearchSpace
from tuner.cli import options
from tuner.cli.output import write_output
from tuner.cli.study_options import StudyOptions, with_study_options
from tuner.course import estimate
from tuner.course.budget import next_occurrence
from tuner.model.identity import target_label
from tuner.model.spec import Method, StudySpec
from tuner.present.console import OUT, say, warn
from tuner.present.wording import changes, shown_value
from tuner.search.schedule import searched_from, space_of, trials_in_all
from tuner.study_file import json_schema, starter_text


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")] = Path("study.yaml"),
    bootstrap: options.ClusterBootstrap = None,
    as_json: options.Json = False,
) -> None:
    """Write a new study file that lists the settings with their defaults and explains them.

    \b
    Examples:
        tuner init
        tuner init overnight.yaml --bootstrap broker:9092
    """
    if bootstrap is not None:
        options.check_bootstrap(bootstrap)
    if path.exists():
        raise typer.BadParameter(f"the file must be new, but {path} is there already; name another file")
    write_output(path, starter_text(bootstrap))
    say(f"wrote {path}; next: tuner plan {path}")
    if as_json:
        options.print_written(path, as_json=True)


def schema() -> None:
    """Print the JSON Schema of study files, so that an editor can check and complete them.

    \b
    Examples:
        tuner schema > study.schema.json
    """
    options.print_json(json_schema())


@with_study_options
def plan(
    asked: StudyOptions,
    mb_per_s: Annotated[
        float,
        typer.Option(
            min=0.001, help="Throughput that you expect at full load, to estimate how many bytes the study writes."
        ),
    ] = 200.0,
    as_json: options.Json = False,
) -> None:
    """Show what a study would do, without any traffic: trials, time, bytes, search space, topics that it creates.

    The options are those of `tuner run`, so that both commands speak of the same study.

    \b
    Examples:
        tuner plan overnight.yaml
        tuner plan overnight.yaml --until 07:00
        tuner plan overnight.yaml --mb-per-s 80 --json
        tuner plan --quick --record-bytes 500
        tuner plan --record-bytes 1000 --current producer.properties --trials 40 --rounds 6
    """
    spec, _ = asked.study()
    asked.check_limits(spec)
    spaces = {size: space_of(spec, size, DEFAULT_MAX_MESSAGE_BYTES) for size in spec.workload.record_sizes}
    record = _record(spec, spaces, mb_per_s)
    if as_json:
        options.print_json(record)
    else:
        _print(spec, spaces, record)


def _record(spec: StudySpec, spaces: dict[RecordSizes, SearchSpace], mb_per_s: float) -> dict[str, Any]:
    trials = {size: trials_in_all(spec.search, space, spec.baseline) for size, space in spaces.items()}
    seconds = _seconds(spec, trials)
    return {
        "schema_version": 1,
        "kind": "plan",
        "study": spec.name,
        "baseline": dict(spec.baseline.values),
        "targets": [target_label(target) for target in spec.targets],
        "seconds_per_trial": spec.trial_s,
        "seconds": seconds,
        "seconds_at_least": estimate.least_s(spec),
        "bytes_at_most": _bytes(spec, seconds, mb_per_s),
        "assumed_mb_per_s": mb_per_s,
        "sizes": [
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
        "sessions": _sessions_text(spec),
        "creates": _creates(spec),
    }


def _print(spec: StudySpec, spaces: dict[RecordSizes, SearchSpace], record: dict[str, Any]) -> None:
    OUT.print(f"study     {spec.name}, {spec.search.method}, seed {spec.search.seed}", markup=False)
    OUT.print(f"target    {', '.join(target_label(target) for target in spec.targets)}", markup=False)
    OUT.print(f"optimises {', '.join(objective.metric for objective in spec.objectives)}", markup=False)
    own = " ".join(map(str, changes(spec.baseline.values, {})))
    OUT.print(f"baseline  {own or 'the client without any property set'}", markup=False)
    for note in spec.baseline_notes:
        OUT.print(f"          {note}", markup=False, soft_wrap=True)
    if spec.constraints:
        OUT.print(
            f"requires  {', '.join(str(constraint) for constraint in spec.constraints)} of a recommended config",
            markup=False,
        )
    most = estimate.most_confirmations(spec)
    for size in record["sizes"]:
        many = "as many as time allows" if size["trials"] is None else f"{size['trials']}"
        OUT.print(
            f"trials    {size['record_bytes']} B: {many}, {spec.trial_s:g} s each; before them up to "
            f"{spec.stabilising_trials} burn-in runs, after them up to {most} measurements to confirm the winners",
            markup=False,
        )
    if record["sessions"]:
        OUT.print(f"sessions  {record['sessions']}", markup=False, soft_wrap=True)
    OUT.print(f"time      {_time_text(spec, record['seconds'])}", markup=False)
    least = datetime.timedelta(seconds=round(record["seconds_at_least"]))
    OUT.print(f"least     {least}: a search of a few trials and the shortest confirmation", markup=False)
    written = record["bytes_at_most"]
    if written is None:
        OUT.print("bytes     as many as time allows; set search.max_bytes to limit them", markup=False)
    else:
        limit = (
            " (the study's limit)"
            if written == spec.search.max_bytes
            else f", if a trial writes {record['assumed_mb_per_s']:g} MB/s"
        )
        OUT.print(f"bytes     at most {written / 1e9:,.0f} GB{limit}", markup=False)
        if written < (least_bytes := estimate.least_bytes(spec, record["assumed_mb_per_s"])):
            warn(
                f"at {record['assumed_mb_per_s']:g} MB/s, {written / 1e9:,.0f} GB is too little for a search of a few "
                f"trials and the shortest confirmation, which take {least_bytes / 1e9:,.0f} GB"
            )
    OUT.print(f"creates   {record['creates']}", markup=False)
    for sizes, space in spaces.items():
        OUT.print()
        OUT.print(f"search space for {sizes} B", markup=False, style="bold")
        headings = ("knob", "range", "unit", "client's default", *(["baseline"] if own else []))
        table = Table(*headings, box=None, pad_edge=False)
        for parameter in space.parameters:
            default = shown_value(parameter.name, parameter.default)
            # The level of a codec has a row for each codec, and no single value.
            one = parameter.name == parameter.sets
            now = shown_value(parameter.name, spec.baseline.effective(parameter.name)) if one and own else ""
            table.add_row(parameter.name, parameter.text, parameter.unit, default, now)
        OUT.print(table)
        if waiting := _later_knobs_text(_searched_from(spec, space)):
            OUT.print(
                f"searched later: {waiting}; name a knob under space in the study file to search it from the beginning",
                markup=False,
            )
        steps = spec.search.grid_steps
        OUT.print(f"a grid of {steps} values per knob: {space.combinations_text(steps)}", markup=False)
        for rule in space.rules:
            OUT.print(f"  rule: {rule}", markup=False)
        if space.fixed:
            fixed = ", ".join(f"{name}={shown_value(name, value)}" for name, value in sorted(space.fixed.items()))
            OUT.print(f"  in every config: {fixed}", markup=False)


def _searched_from(spec: StudySpec, space: SearchSpace) -> dict[str, int]:
    """Return the knobs that are varied later, each with the number of configs that are measured before."""
    return searched_from(space) if spec.search.method is Method.BAYESIAN else {}


def _later_knobs_text(begin: dict[str, int]) -> str:
    """Return a text with the knobs that are searched later, and after how many configs; empty if there are none."""
    together = groupby(sorted(begin, key=begin.__getitem__), begin.__getitem__)
    return "; ".join(f"{', '.join(names)} after {known} configs" for known, names in together if known)


def _seconds(spec: StudySpec, trials: dict[RecordSizes, int | None]) -> float | None:
    if _spread_s(spec):
        return _own_s(spec) * len(trials)  # the rounds are spread over all the time that the search leaves
    known = [] if spec.search.hours is None else [spec.search.hours * 3600]
    counts = [count for count in trials.values() if count is not None]
    if len(counts) == len(trials):
        known.append(estimate.most_s(spec, counts))
    return min(known, default=None)


def _sessions_s(spec: StudySpec) -> float:
    """Return the most seconds that one record size spends on starting brokers and on burn-in runs between rounds."""
    rounds = estimate.most_rounds(spec)
    return spec.starting_s(rounds) + rounds * spec.burn_ins_per_round * (spec.trial_s + estimate.OVERHEAD_S)


def _sessions_text(spec: StudySpec) -> str:
    """Return a text about what each round begins with; empty if the rounds follow one another."""
    most, said = estimate.most_rounds(spec), []
    if not most:
        return ""
    if spec.rounds_on_new_brokers:
        added = datetime.timedelta(seconds=round(_sessions_s(spec)))
        said.append(
            f"each of up to {most} rounds is measured on newly started brokers, which adds up to {added} for a record "
            "size (confirm.new_broker)"
        )
    if spec.spreads_rounds:
        said.append(_spread_text(spec))
    if spec.confirm.spread_over_s:
        over = datetime.timedelta(seconds=round(spec.confirm.spread_over_s))
        gap = datetime.timedelta(seconds=round(spec.confirm.gap_s))
        said.append(
            f"up to {most} rounds are spread over at most {over} for a record size, {gap} apart (confirm.spread_over)"
        )
    return "; ".join(said)


def _own_s(spec: StudySpec) -> float:
    """Return the seconds that each record size has for its search and its confirmation, if the time is limited."""
    limits_s = [] if spec.search.hours is None else [spec.search.hours * 3600]
    if spec.search.until is not None:
        now = datetime.datetime.now()
        limits_s.append(next_occurrence(spec.search.until, now).timestamp() - now.timestamp())
    return max(0.0, min(limits_s)) / len(spec.workload.record_sizes)


def _spread_s(spec: StudySpec) -> float:
    """Return how many seconds of each record size's time the rounds get, if they are spread by default; else 0."""
    return estimate.spread_s(spec, _own_s(spec), spec.trial_s + estimate.OVERHEAD_S) if spec.spreads_rounds else 0.0


def _spread_text(spec: StudySpec) -> str:
    """Return a text about how much of the time the rounds get, if they are spread by default."""
    each_s, own_s = spec.trial_s + estimate.OVERHEAD_S, _own_s(spec)
    kept_s = _spread_s(spec)
    if kept_s:
        apart = datetime.timedelta(seconds=round(estimate.gap_s(spec, kept_s, each_s)))
        return (
            f"the search leaves {_rough(kept_s)} of the {_rough(own_s)} of each record size, and at least "
            f"{spec.confirm.rounds} rounds are spread over it, {apart} or more apart (confirm.spread_over: 0s turns it "
            "off)"
        )
    least = _rough(1.5 * estimate.least_spread_s(spec, each_s))
    return (
        "the rounds follow one another, so gains are about those minutes: to spread them, a record size needs "
        f"{least}, but has {_rough(own_s)}"
    )


def _rough(seconds: float) -> str:
    """Return a duration in hours and minutes, such as `2:05 h`."""
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours}:{minutes:02} h"


def _bytes(spec: StudySpec, seconds: float | None, mb_per_s: float) -> int | None:
    each = estimate.bytes_per_trial(spec, mb_per_s)
    known = [] if seconds is None else [round(seconds * each / (spec.trial_s + estimate.OVERHEAD_S))]
    if spec.search.max_bytes is not None:
        known.append(spec.search.max_bytes)
    return min(known, default=None)


def _time_text(spec: StudySpec, seconds: float | None) -> str:
    parts = [] if seconds is None else [f"about {datetime.timedelta(seconds=round(seconds))}"]
    if parts and spec.search.stops_early:
        parts.append("or less time, because trials that can no longer win are stopped early")
    if spec.search.until is not None:
        parts.append(f"no new trial after {spec.search.until}")
    return ", ".join(parts) or "until you stop it"


def _creates(spec: StudySpec) -> str:
    load, target = spec.workload, spec.targets[0]
    if target.topic is not None:
        return f"nothing; the study writes to your topic {target.topic}, and its records stay there"
    made = f"{counted(load.partitions, 'partition')}, replication {load.replication}"
    like = f"like {target.like}" if target.like else made
    where = "on your cluster" if target.bootstrap is not None else "on a broker that is started for the study"
    return f"one topic at a time {where} (tuner-..., {like}), deleted after its trial"
