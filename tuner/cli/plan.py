"""`tuner init`, `tuner plan` and `tuner schema`: the verbs about study files that need no cluster."""

import datetime
from dataclasses import replace
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
from tuner.confirmation.steps import most_steps
from tuner.model.identity import target_label
from tuner.model.spec import Method, StudySpec
from tuner.present.console import OUT, say
from tuner.present.wording import changes, shown_value
from tuner.search.schedule import searched_from, space_of, trials_in_all
from tuner.study_file import json_schema, load_study, starter_text

_OVERHEAD_S = 1.0


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")] = Path("study.yaml"),
    bootstrap: options.ClusterBootstrap = None,
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


def schema() -> None:
    """Print the JSON Schema of study files, so that an editor can check and complete them.

    \b
    Examples:
        tuner schema > study.schema.json
    """
    options.print_json(json_schema())


def plan(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY.YAML", help="Study file.")],
    mb_per_s: Annotated[
        float,
        typer.Option(
            min=0.001, help="Throughput that you expect at full load, to estimate how many bytes the study writes."
        ),
    ] = 200.0,
    until: options.Until = None,
    as_json: options.Json = False,
) -> None:
    """Show what a study would do, without any traffic: trials, time, bytes, search space, topics that it creates.

    \b
    Examples:
        tuner plan overnight.yaml
        tuner plan overnight.yaml --until 07:00
        tuner plan overnight.yaml --mb-per-s 80 --json
    """
    spec, _ = load_study(study_file)
    if until is not None:  # as `tuner run` does, it replaces the limits of the file
        spec = replace(spec, search=replace(spec.search, trials=None, hours=None, until=until))
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
    own = {change.name: str(change) for change in changes(spec.baseline.values, {})}
    OUT.print(f"baseline  {' '.join(own.values()) or 'the client without any property set'}", markup=False)
    for note in spec.baseline_notes:
        OUT.print(f"          {note}", markup=False, soft_wrap=True)
    if spec.constraints:
        OUT.print(
            f"requires  {', '.join(str(constraint) for constraint in spec.constraints)} of a recommended config",
            markup=False,
        )
    for size in record["sizes"]:
        many = "as many as time allows" if size["trials"] is None else f"{size['trials']}"
        OUT.print(
            f"trials    {size['record_bytes']} B: {many}, {spec.trial_s:g} s each; before them up to "
            f"{spec.stabilising_trials} burn-in runs, after them up to {_most_confirmations(spec)} measurements to "
            "confirm the winners",
            markup=False,
        )
    if record["sessions"]:
        OUT.print(f"sessions  {record['sessions']}", markup=False, soft_wrap=True)
    OUT.print(f"time      {_time_text(spec, record['seconds'])}", markup=False)
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
    OUT.print(f"creates   {record['creates']}", markup=False)
    for sizes, space in spaces.items():
        OUT.print()
        OUT.print(f"search space for {sizes} B", markup=False, style="bold")
        headings = ("knob", "range", "unit", "client's default", *(["baseline"] if own else []))
        table = Table(*headings, box=None, pad_edge=False)
        for parameter in space.parameters:
            default = shown_value(parameter.name, parameter.default)
            set_to = own.get(parameter.name, "").removeprefix(f"{parameter.name}=")
            table.add_row(parameter.name, parameter.text, parameter.unit, default, set_to)
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
    each_s = spec.trial_s + _OVERHEAD_S
    others = _most_confirmations(spec) + spec.stabilising_trials
    known = [] if spec.search.hours is None else [spec.search.hours * 3600]
    if all(count is not None for count in trials.values()):
        rounds = _most_rounds(spec)
        at_once_s = sum((count or 0) + others for count in trials.values()) * each_s / len(spec.targets)
        # While a round is waited for, nothing else is measured.
        apart_s = max(spec.starting_s(rounds), rounds * spec.confirm.gap_s)
        known.append(at_once_s + len(trials) * apart_s)
    return min(known, default=None)


def _most_confirmations(spec: StudySpec) -> int:
    return most_steps(spec.confirm) + spec.winner_stabilising_trials + _most_rounds(spec) * spec.burn_ins_per_round


def _most_rounds(spec: StudySpec) -> int:
    return max(spec.confirm.rounds, spec.confirm.max_rounds) if spec.confirm.rounds else 0


def _sessions_s(spec: StudySpec) -> float:
    """Return the most seconds that one record size spends on starting brokers and on burn-in runs between rounds."""
    rounds = _most_rounds(spec)
    return spec.starting_s(rounds) + rounds * spec.burn_ins_per_round * (spec.trial_s + _OVERHEAD_S)


def _sessions_text(spec: StudySpec) -> str:
    """Return a text about what each round begins with; empty if the rounds follow one another."""
    most, said = _most_rounds(spec), []
    if not most:
        return ""
    if spec.rounds_on_new_brokers:
        added = datetime.timedelta(seconds=round(_sessions_s(spec)))
        said.append(
            f"each of up to {most} rounds is measured on newly started brokers, which adds up to {added} for a record "
            "size (confirm.new_broker)"
        )
    if spec.confirm.spread_over_s:
        over = datetime.timedelta(seconds=round(spec.confirm.spread_over_s))
        gap = datetime.timedelta(seconds=round(spec.confirm.gap_s))
        said.append(
            f"up to {most} rounds are spread over at most {over} for a record size, {gap} apart (confirm.spread_over)"
        )
    return "; ".join(said)


def _bytes(spec: StudySpec, seconds: float | None, mb_per_s: float) -> int | None:
    saturating_s = spec.workload.saturate.warmup_s + spec.workload.saturate.measured_s
    share = saturating_s + (spec.trial_s - saturating_s) * spec.workload.rate_ratio
    known = [] if seconds is None else [round(seconds * mb_per_s * 1e6 * share / (spec.trial_s + _OVERHEAD_S))]
    if spec.search.max_bytes is not None:
        known.append(spec.search.max_bytes)
    return min(known, default=None)


def _time_text(spec: StudySpec, seconds: float | None) -> str:
    parts = [] if seconds is None else [f"about {datetime.timedelta(seconds=round(seconds))}"]
    if parts and spec.search.racing:
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
