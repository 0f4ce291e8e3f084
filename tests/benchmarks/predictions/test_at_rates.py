"""The errors of latencies at rates up to 80 % of the throughput, on the kept measurements of six configs."""

from statistics import fmean

from benchmarks.predictions.at_rates import OUR_MEAN, THEIR_MEAN, errors_by_rate
from benchmarks.problems.table import unseen_rates_table


def test_at_each_rate_the_model_is_nearer_to_the_measured_latency_than_the_paper_s_queue() -> None:
    by_rate = errors_by_rate(unseen_rates_table())
    assert list(by_rate) == [0.2, 0.4, 0.6, 0.8]
    for errors in by_rate.values():
        ours, theirs = (fmean(map(abs, errors[name])) for name in (OUR_MEAN, THEIR_MEAN))
        assert ours < theirs
