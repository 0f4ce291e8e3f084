"""A runner with no Kafka: it computes with the model, and adds the noise that was asked for."""

from dataclasses import dataclass
from typing import Final

from runners.measurement import ClientActivity, Measurement, Origin, Resources
from runners.runner import Watch, go_on
from runners.simulated.course import Course, Expected, Noise, luck_of
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
    see a config again with other noise changes the seed.

    Attributes:
        noise_ratio: Standard deviation from run to run, relative to the model's value (of its logarithm, to be exact).
        cluster: What is simulated.
        window_noise_ratio: The same from window to window; None takes `noise_ratio`.
        latency_noise_ratio: Of latencies, from run to run; None takes `noise_ratio`.
        latency_window_noise_ratio: Of latencies, from window to window; None takes that of windows.
    """

    noise_ratio: float = 0.0
    cluster: SimulatedCluster = EMBEDDED
    window_noise_ratio: float | None = None
    latency_noise_ratio: float | None = None
    latency_window_noise_ratio: float | None = None

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
        luck = luck_of(config, workload)
        luck.random()  # without it the numbers of every simulated study would be others than they were
        noise = Noise.of(
            self.noise_ratio, self.window_noise_ratio, self.latency_noise_ratio, self.latency_window_noise_ratio
        )
        truth = performance(self.cluster, config, workload)
        expected = Expected(
            capacity_records_per_s=truth.capacity_records_per_s,
            latency_p50_ms=truth.latency_p50_ms,
            latency_spread=truth.latency_spread,
            queue_full_ratio=truth.queue_full_ratio,
            resources=_resources(truth, self.cluster),
            activity=_activity(truth, workload),
            wire_bytes_per_value_byte=truth.wire_bytes_per_value_byte,
        )
        origin = Origin("simulated", "none", "simulated", "", "", 1.0)
        return Course(origin, config, workload, expected, noise, luck).run(watch, WARNING)


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
