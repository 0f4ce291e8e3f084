"""Checks that a real study finds no gain in a config that does the same as the baseline.

python -m benchmarks.same_config [--studies 10]

Each study starts new embedded brokers and skips the search. It confirms one config: the client's defaults, with one
default written out. This config has another fingerprint than the baseline, but the same effect. So every measured gain
is noise, or comes from work that one measurement leaves behind for the next measurement.
"""

from benchmarks.evidence import run_benchmark
from benchmarks.no_ops import run_studies
from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.spec import ConfirmSpec, Executor, PhaseSpec, SearchSpec, StudySpec, WorkloadSpec

WRITTEN_OUT = "linger.ms"
"""The property whose default is written out."""


def main() -> None:
    """Run the studies; the exit code is 1 if a study recommends a change."""
    run_studies(__doc__, _spec, studies=10)


def _spec(seed: int) -> StudySpec:
    phase, baseline = PhaseSpec(1.0, 1.5), ProducerConfig.parse({})
    same = ProducerConfig.parse({WRITTEN_OUT: baseline.effective(WRITTEN_OUT)})
    return StudySpec(
        f"same-config-{seed}",
        WorkloadSpec((RecordSizes.fixed(1000),), saturate=phase, paced=phase, seed=seed),
        search=SearchSpec(trials=1, burn_in_max=3, seed=seed),
        confirm=ConfirmSpec(rounds=8, max_rounds=8, undo_rounds=0, configs=(same,)),
        executor=Executor.LOCAL,
    )


if __name__ == "__main__":
    run_benchmark(main)
