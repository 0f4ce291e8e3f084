"""A runner with no Kafka: it computes with the model, and adds the noise, drift and failures that were asked for."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from runners.measurement import ClientActivity, Measurement, Origin, Resources, Window
from runners.runner import Watch, WatchDecision, go_on
from runners.simulated.course import Course, Expected, Noise, luck_of
from runners.simulated.disturbances import NO_DRIFT, Drift, Failure, Mishap, Weakness, error_of
from runners.simulated.inputs import EMBEDDED, SimulatedCluster
from runners.simulated.model import Performance, performance
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

WARNING: Final = "simulated, not measured"


@dataclass(frozen=True, slots=True)
class SimulatedRunner:
    """A `Runner` that computes instead of measuring, in no time. The same call gives the same numbers.

    Noise is of two kinds, as in reality: one draw per run, which no longer look at that run averages out, and one per
    window, which it does. A run's draws follow from the config and the whole workload, its seed included: who wants to
    see a config again with other noise changes the seed. By convention a workload's seed counts the trials (see
    `tuner.course.targets`), and `drift` goes by it.

    Attributes:
        noise_ratio: Standard deviation from run to run, relative to the model's value (of its logarithm, to be exact).
        cluster: What is simulated.
        window_noise_ratio: The same from window to window; None takes `noise_ratio`.
        latency_noise_ratio: Of latencies, from run to run; None takes `noise_ratio`.
        latency_window_noise_ratio: Of latencies, from window to window; None takes that of windows.
        drift: How much slower everything gets from trial to trial.
        first_seed: The workload's seed in trial 0.
        weaknesses: Configs that fail; the first that concerns a config counts.
        mishaps: What happens to any config by chance.
    """

    noise_ratio: float = 0.0
    cluster: SimulatedCluster = EMBEDDED
    window_noise_ratio: float | None = None
    latency_noise_ratio: float | None = None
    latency_window_noise_ratio: float | None = None
    drift: Drift = NO_DRIFT
    first_seed: int = 0
    weaknesses: tuple[Weakness, ...] = ()
    mishaps: tuple[Mishap, ...] = ()

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
        luck = luck_of(config, workload)
        weakness = next((each for each in self.weaknesses if each.concerns(config)), None)
        failure, fails_after_ratio = self._failure(luck, weakness)
        course = Course(
            Origin("simulated", "none", "simulated", "", "", 1.0),
            config,
            workload,
            self._expected(config, workload, weakness),
            self._noise,
            luck,
        )
        total = len(course.phases.ends_ns)
        windows: list[Window] = []
        stopped = False
        for number in range(total):
            if failure is not None and number == int(fails_after_ratio * total):
                cause = f"by its {weakness.name}" if weakness is not None and weakness.failure else "by chance"
                raise error_of(failure, f"after {number} of {total} windows, {cause}")
            windows.append(course.window(number))
            if watch(windows[-1]) is WatchDecision.STOP:
                stopped = True
                break
        return course.measurement(windows, (WARNING,), stopped_early=stopped)

    @property
    def _noise(self) -> Noise:
        return Noise.of(
            self.noise_ratio, self.window_noise_ratio, self.latency_noise_ratio, self.latency_window_noise_ratio
        )

    def _expected(self, config: ProducerConfig, workload: Workload, weakness: Weakness | None) -> Expected:
        truth = performance(self.cluster, config, workload)
        slowness = self.drift.slowness(workload.seed - self.first_seed)
        return Expected(
            capacity_records_per_s=truth.capacity_records_per_s / slowness,
            latency_p50_ms=truth.latency_p50_ms * slowness,
            latency_spread=truth.latency_spread,
            queue_full_ratio=truth.queue_full_ratio,
            lost_ratio=weakness.lost_ratio if weakness is not None else 0.0,
            resources=_resources(truth, self.cluster),
            activity=_activity(truth, workload),
            wire_bytes_per_value_byte=truth.wire_bytes_per_value_byte,
        )

    def _failure(self, luck: np.random.Generator, weakness: Weakness | None) -> tuple[Failure | None, float]:
        """How the run fails, if it does, and after what share of its windows; draws as often, whatever comes of it."""
        after_ratio = float(luck.random())
        chances = luck.random(len(self.mishaps))
        if weakness is not None and weakness.failure is not None:
            return weakness.failure, after_ratio
        for mishap, chance in zip(self.mishaps, chances, strict=True):
            if chance < mishap.probability:
                return mishap.failure, after_ratio
        return None, after_ratio


def _resources(truth: Performance, cluster: SimulatedCluster) -> Resources:
    return Resources(
        sender_cpu_ratio=truth.sender_cpu_ratio,
        client_thread_cpu_ratio=truth.client_cpu_ratio,
        process_cpu_cores=truth.sender_cpu_ratio + truth.client_cpu_ratio,
        host_cores=int(cluster.client_cores),
        broker_cpu_cores=truth.broker_cpu_cores,
    )


def _activity(truth: Performance, workload: Workload) -> ClientActivity:
    value = workload.record_sizes.mean_bytes
    return ClientActivity(
        queue_full_ratio=truth.queue_full_ratio,
        queue_growth_ratio=truth.falling_behind_ratio,
        queued_records=truth.queued_records,
        queued_bytes=truth.queued_records * value,
        in_flight_requests=truth.in_flight_requests,
        throttle_ms=0.0,
        wire_bytes=None,
        batch_records=truth.batch_records,
        batch_bytes=truth.batch_records * value * truth.wire_bytes_per_value_byte,
        retries=0,
        partitions_used=workload.partitions,
    )
