"""The end of a record size: baseline and winners again, in turn, so that what is claimed is no lucky trial."""

from typing import Any

from runners.workload import RecordSizes
from search_spaces.producer_config import ProducerConfig
from tuner.strategy import Proposal
from tuner.study.recommendation import pick
from tuner.study.results import SizeResults
from tuner.study.schedule import confirm_steps, missing_steps
from tuner.study.store import ResultsStore
from tuner.study.trial import Kind
from tuner.study.trial_loop import TrialLoop

_FACT = "confirming"


def is_confirming(loop: TrialLoop, size: RecordSizes) -> bool:
    """Whether the search of this record size is over and its winners are chosen."""
    return str(size) in loop.store.facts().get(_FACT, {})


def confirm(loop: TrialLoop, size: RecordSizes, rate_records_per_s: float | None) -> None:
    """Measure the baseline and the winners of the study's goals in turn, as far as that is not on record yet.

    Args:
        loop: Of the study.
        size: The record size.
        rate_records_per_s: Fixed rate of the paced phase.
    """
    rounds = loop.spec.confirm.rounds
    results = loop.records[size].results(rate_records_per_s)
    if not rounds or results.baseline is None:
        return
    configs, first_round = _candidates(loop, results)
    if len(configs) < 2:
        loop.show.say(f"{size} B: nothing on the front but the baseline, so nothing to confirm")
        return
    steps = confirm_steps(list(configs), rounds, loop.spec.search.seed, first_round)
    missing = missing_steps(steps, loop.records[size].trials)
    if missing:
        winners = len(configs) - 1
        what = "the winner" if winners == 1 else f"{winners} winners"
        loop.show.say(f"{size} B: measuring the baseline and {what} again, in turn, {rounds} rounds")
    for step in missing:
        if not loop.may_start(None):
            loop.show.say(f"{size} B: no bytes are left to confirm")
            return
        proposal = Proposal(0, configs[step.fingerprint], {})
        loop.run_one(size, Kind.CONFIRM, proposal, rate_records_per_s, step.round)


def reopen(store: ResultsStore) -> None:
    """Let a finished or confirming study be searched further, as its limits have changed; then it confirms anew."""
    store.set_fact(_FACT, {})


def _candidates(loop: TrialLoop, results: SizeResults) -> tuple[dict[str, ProducerConfig], int]:
    """Baseline and winners by fingerprint, and the first of their rounds: after those of an earlier confirmation.

    The choice is kept, so that a resumed confirmation has the same.
    """
    assert results.baseline is not None
    kept: dict[str, dict[str, Any]] = loop.store.facts().get(_FACT, {})
    if results.record_bytes not in kept:
        winners = [pick(results, goal) for goal in loop.spec.confirm.goals]
        chosen = [results.baseline.fingerprint, *(trial.fingerprint for trial in winners if trial is not None)]
        past = [trial.round for trial in results.trials if trial.round is not None]
        kept[results.record_bytes] = {
            "fingerprints": list(dict.fromkeys(chosen)),
            "first_round": max(past, default=-1) + 1,
        }
        loop.store.set_fact(_FACT, kept)
    choice = kept[results.record_bytes]
    by_fingerprint = {trial.fingerprint: trial for trial in results.trials}
    return {each: by_fingerprint[each].config() for each in choice["fingerprints"]}, choice["first_round"]
