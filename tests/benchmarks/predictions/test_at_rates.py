"""The errors of latencies at rates up to 80 % of the throughput, on the kept measurements of six configs."""

from statistics import fmean

from benchmarks.predictions.at_rates import OUR_MEAN, THEIR_MEAN, errors_at_rates
from benchmarks.problems.table import unseen_rates_table


def test_at_each_rate_the_model_is_nearer_to_the_measured_latency_than_the_paper_s_queue() -> None:
    at_rates = errors_at_rates(unseen_rates_table())
    assert list(at_rates) == [0.2, 0.4, 0.6, 0.8]
    for found in at_rates.values():
        ours, theirs = (fmean(map(abs, found.errors[name])) for name in (OUR_MEAN, THEIR_MEAN))
        assert ours < theirs


def test_up_to_60_percent_of_the_throughput_nine_of_ten_latencies_lie_in_their_intervals() -> None:
    at_rates = errors_at_rates(unseen_rates_table())
    assert fmean(inside for rate in (0.2, 0.4, 0.6) for inside in at_rates[rate].inside) >= 0.9
