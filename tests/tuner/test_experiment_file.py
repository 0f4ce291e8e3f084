"""Experiment files: what rows they make, and what is refused."""

import re
from dataclasses import replace
from typing import Final

import pytest

from runners.errors import RayUnfit
from runners.pools.placement import Placement
from runners.pools.ray_cluster import Code, RayCluster
from tests.helpers.small_experiment import SEARCHES, SMALL, small
from tuner.experiment_file import named_experiments, paper_experiments, parse_experiment
from tuner.experiment_file.loading import parse_stored_experiment
from tuner.experiment_file.searches import on_ray
from tuner.model.goals import Goal
from tuner.model.row import BROKERS_ANEW_S, BestOf
from tuner.model.spec import RaySpec
from tuner.study_file import StudyFileError


def test_each_combination_of_the_varied_settings_is_a_row() -> None:
    spec = small()
    assert [row.name for row in spec.rows] == [
        "record_bytes=100 acks=1",
        "record_bytes=100 acks=all",
        "record_bytes=1000 acks=1",
        "record_bytes=1000 acks=all",
    ]
    assert spec.control == "record_bytes=1000 acks=1"
    assert [row.config.acks for row in spec.rows] == [1, -1, 1, -1]
    assert [row.workload.record_sizes.mean_bytes for row in spec.rows] == [100, 100, 1000, 1000]


def test_named_rows_are_combined_with_the_varied_settings() -> None:
    spec = small(
        "about: Replicas.\ntarget: {brokers: 3}\nvary: {record_bytes: [10, 100]}\n"
        "rows:\n- {row: alone, replication: 1}\n- {row: copied, replication: 3, acks: all}\n"
    )
    assert [row.name for row in spec.rows] == [
        "alone, record_bytes=10",
        "alone, record_bytes=100",
        "copied, record_bytes=10",
        "copied, record_bytes=100",
    ]
    assert [row.workload.replication for row in spec.rows] == [1, 1, 3, 3]
    assert spec.rows[3].matches({"row": "copied", "record_bytes": 100})


def test_the_quick_version_has_a_name_of_its_own_and_fewer_rows() -> None:
    spec = small(quick=True)
    assert (spec.name, len(spec.rows), spec.rounds) == ("small-quick", 2, 2)
    assert spec.rows[0].load_s == 3.0


def test_the_plan_counts_the_repeated_control() -> None:
    spec = small()
    # Three other rows, and the control again after two of them.
    assert spec.measurements == 4 * (4 + 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("acks: [1, all]", "acks: [1, 7777777]", "acks"),
        ("acks: [1, all]", "akcs: [1]", "akcs"),
        ("record_bytes: [100, 1000]", "record_bytes: [100, -1]", "must be a whole number from 1"),
        ("record_bytes: [100, 1000]", "record_bytes: 100", "takes a list of values, such as [0, 5, 20]"),
        ("record_bytes: [100, 1000]", "record_bytes: []", "takes a list of values, such as [0, 5, 20]"),
        ("acks: [1, all]", "acks: [1, null]", "line 7, vary.acks[1]: a setting takes one text, number, true or false"),
        ("acks: [1, all]", "acks: [[1], all]", "vary.acks[0]: a setting takes one text, number, true or false"),
        ("acks: [1, all]", "acks: [{a: 1}, all]", "vary.acks[0]: a setting takes one text, number, true or false"),
        ("quick: {", "exclude: [{acks: [[all]]}]\nquick: {", "exclude[0].acks[0]: a setting takes one text"),
        ("{record_bytes: [1000]}", "{record_bytes: [{}]}", "quick.vary.record_bytes[0]: a setting takes one text"),
        ("rounds: 4", "runds: 4", "did you mean rounds?"),
        ("rounds: 4", "rounds: 4\ntarget: {kind: simulated}", "target has no such key; leave it out. Its keys"),
        ("control: {record_bytes: 1000, acks: 1}", "control: {acks: 1}", "the control must be one row, but 2 rows"),
        (
            "over: {record_bytes: 100}",
            "over: {record_bytes: 7}",
            "one row must have the settings record_bytes=7 acks=1",
        ),
        ("    limit: 102400\n", "", "needs `of` and `over`, or `of` and `limit`"),
        ("    order: [", "    limit: 3\n    order: [", "or `order` alone"),
        ("    order: [", "    over: {record_bytes: 100}\n    order: [", "or `order` alone"),
        ("    order: [", "    each: [{over: {record_bytes: 100}}]\n    order: [", "or `order` alone"),
        ("metric: records_per_s", "metric: records", "must be one of"),
        ("id: the-cap", "id: larger-is-faster", "is listed twice"),
        (
            "order: [{record_bytes: 1000, acks: 1}, {record_bytes: 100,",
            "order: [{record_bytes: 1000, acks: 1}, {record_bytes: 1000,",
            "findings[1]: a finding must compare two different rows",
        ),
        (
            "{row: {record_bytes: 1000, acks: 1}",
            "{row: {record_bytes: 7}",
            "line 37, paper_values[0].row: one row must have the settings record_bytes=7, but 0 rows",
        ),
        ("{row: {record_bytes: 1000, acks: 1}", "{row: {acks: 1}", "settings acks=1, but 2 rows"),
        ("values: {mb_per_s: 95}", "values: {mb: 95}", "a metric must be one of"),
        ("load: {partitions: 3", "load: {replication: 3", "replication must be at most the number of brokers"),
        ("load: {", "load: {stored_bytes: 1TB, ", "stored_bytes <= safety.max_bytes_per_trial must hold"),
    ],
)
def test_a_mistake_is_refused_with_its_place(old: str, new: str, said: str) -> None:
    assert old in SMALL
    with pytest.raises(StudyFileError) as refused:
        small(SMALL.replace(old, new, 1))
    assert re.search(re.escape(said), str(refused.value)), str(refused.value)
    assert "small.yaml" in str(refused.value)


COPIED = """
experiment: copied
about: Replicas.
load: {replication: 3}
searches: {random: {search: {method: random, trials: 4}, executor: {kind: simulated}}}
rows: [{row: today}, {row: best, search: random, goal: throughput}]
"""


def test_replicas_need_not_fit_the_files_brokers_on_a_users_cluster() -> None:
    with pytest.raises(StudyFileError, match=r"asks for 3 replicas with 1 broker; raise target\.brokers"):
        small(COPIED)
    with pytest.raises(StudyFileError, match=r"with 1 broker; leave container out and raise target\.brokers"):
        small(f"{COPIED}target: {{container: 'apache/kafka:4.3.1'}}\n")
    spec = parse_experiment(COPIED, name="copied", folder=None, origin="copied.yaml", bootstrap="broker:9092")
    assert (spec.rows[0].workload.replication, spec.target.bootstrap) == (3, None)
    stored = parse_stored_experiment(COPIED, name="copied", bootstrap="broker:9092")
    assert stored.target.bootstrap == "broker:9092"


def test_the_stored_file_of_an_experiment_may_have_what_was_accepted_before() -> None:
    text = SMALL.replace("{row: {record_bytes: 1000, acks: 1}", "{row: {record_bytes: 7}")
    text = text.replace("over: {record_bytes: 100}", "over: {record_bytes: 1000}")
    ignored = "limit: 3\n    each: [{over: {record_bytes: 7}}]\n    over: {record_bytes: 7}"
    text = text.replace("    order: [", f"    {ignored}\n    order: [")
    assert parse_stored_experiment(text, name="small", bootstrap=None).paper_values


def test_a_figure_may_belong_to_a_row_that_the_quick_version_leaves_out() -> None:
    text = SMALL.replace("{row: {record_bytes: 1000, acks: 1}", "{row: {record_bytes: 100, acks: 1}")
    assert small(text, quick=True).paper_values


def test_excluded_combinations_are_no_rows() -> None:
    text = (
        "about: A grid.\nvary:\n  record_bytes: [100, 1000]\n  linger.ms: [0, 5, 10]\n"
        "exclude: [{record_bytes: [1000], linger.ms: [5, 10]}]\nquick: {exclude: [{linger.ms: [10]}]}\n"
    )
    assert [row.name for row in small(text).rows] == [
        "record_bytes=100 linger.ms=0",
        "record_bytes=100 linger.ms=5",
        "record_bytes=100 linger.ms=10",
        "record_bytes=1000 linger.ms=0",
    ]
    assert len(small(text, quick=True).rows) == 3
    assert len(small(text.replace("linger.ms: [5, 10]}", "linger.ms: 5}")).rows) == 5, "one value needs no list"
    with pytest.raises(StudyFileError, match="a combination must leave out at least one row"):
        small(text.replace("linger.ms: [5, 10]", "linger.ms: [7]"))
    with pytest.raises(StudyFileError, match="exclude must leave at least one row"):
        small(text.replace("{record_bytes: [1000], linger.ms: [5, 10]}", "{record_bytes: [100, 1000]}"))


def test_a_case_adds_settings_to_one_side_of_a_comparison() -> None:
    cases = "each: [{at: {acks: all}, of: {record_bytes: 1000}, over: {record_bytes: 100}, paper_ratio: 3}]"
    text = SMALL.replace(
        "of: {record_bytes: 1000}\n    over: {record_bytes: 100}", "of: {acks: 1}\n    over: {acks: 1}"
    )
    text = re.sub(r"each: \[.*\]", cases, text)
    (compared,) = small(text).findings[0].comparisons
    assert (compared.of, compared.over) == ({"acks": "all", "record_bytes": 1000}, {"acks": "all", "record_bytes": 100})
    assert compared.paper_ratio == 3


@pytest.mark.parametrize("name", sorted(named_experiments()))
@pytest.mark.parametrize("quick", [False, True])
def test_the_experiments_that_come_with_the_tuner_are_valid(name: str, quick: bool) -> None:
    spec = parse_experiment(named_experiments()[name], name=name, folder=None, origin=name, environ={}, quick=quick)
    assert spec.rows
    assert spec.about.endswith(".")


@pytest.mark.parametrize("name", sorted(named_experiments()))
def test_each_figure_of_a_paper_belongs_to_one_row(name: str) -> None:
    spec = parse_experiment(named_experiments()[name], name=name, folder=None, origin=name, environ={})
    for value in spec.paper_values:
        assert sum(row.matches(value.row) for row in spec.rows) == 1, value
    for finding in spec.findings:
        if finding.artefact is not None:
            assert finding.artefact.explains, f"{finding.id}: {finding.artefact}"
        assert finding.claim.endswith("."), finding.id
    assert not any(said.endswith(".") for said in spec.differences)


def test_the_quick_versions_together_take_less_than_40_minutes() -> None:
    known = named_experiments()
    quick = [
        parse_experiment(known[name], name=name, folder=None, origin=name, environ={}, quick=True)
        for name in paper_experiments()
    ]
    assert sum(spec.planned_s for spec in quick) < 40 * 60
    assert "failover" not in paper_experiments(), "no paper describes it"


ZONES: Final = """
about: What another zone costs.
executor: {ray_address: "head:6379", ray_wait: 5m}
load: {placement: [a, b], producers: 2, consumers: 1, measured: 1s}
rows:
  - {row: both}
  - {row: one, placement: b, consumer_zone: c}
  - {row: two, placement: "c, a"}
"""


def test_rows_may_run_in_zones_of_a_ray_cluster() -> None:
    spec = small(ZONES)
    assert spec.ray.cluster([spec.target]) == RayCluster("head:6379", wait_s=300.0, this_host_only=True)
    assert {row.name: row.setup.placement for row in spec.rows} == {
        "both": Placement(("a", "b")),
        "one": Placement(("b",), "c"),
        "two": Placement(("c", "a")),
    }


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("producers: 2", "producers: 1", "each zone of placement needs at least one producer"),
        ("consumers: 1", "consumers: 0", "a row with consumer_zone needs consumers"),
        ("producers: 2", "producers: 0, stored_bytes: 1MB", "is measured on this host; leave its zones out"),
        ("placement: b", 'placement: "b:"', "a zone must consist of letters"),
        ("head:6379", "ray://head:10001", "must be host:port of the cluster's head"),
    ],
)
def test_zones_that_do_not_fit_are_refused(right: str, wrong: str, said: str) -> None:
    assert right in ZONES
    with pytest.raises(StudyFileError, match=re.escape(said)):
        small(ZONES.replace(right, wrong, 1))


def test_settings_of_ray_are_kept_for_an_address_that_an_option_gives() -> None:
    spec = small(ZONES.replace('ray_address: "head:6379"', "ray_code: installed"))
    assert spec.ray == RaySpec(None, Code.INSTALLED, 300.0)
    with pytest.raises(RayUnfit, match="placement names zones"):
        spec.check_zones()
    replace(spec, ray=replace(spec.ray, address="head:6379")).check_zones()


def test_a_search_runs_where_the_rows_run() -> None:
    spec = small(
        """
        about: The best config of a zone.
        executor: {ray_address: "head:6379"}
        load: {placement: a, consumers: 1, consumer_zone: b}
        searches: {random: {search: {method: random, trials: 4}}}
        rows: [{row: today}, {row: best, search: random, goal: throughput}]
        """
    )
    (search,) = spec.searches
    assert (search.study.ray.address, search.study.placement) == ("head:6379", Placement(("a",), "b"))
    assert on_ray(search, "other:1").study.ray.address == "other:1"


@pytest.mark.parametrize("name", sorted(named_experiments()))
def test_searches_without_ray_stay_on_this_host(name: str) -> None:
    spec = parse_experiment(named_experiments()[name], name=name, folder=None, origin=name, environ={})
    for search in spec.searches:
        assert on_ray(search, "head:6379") == search


LOSES: Final = """
about: What a lost broker costs.
target: {brokers: 3}
load: {replication: 3, min_insync_replicas: 2, rate_records_per_s: 100, measured: 30s, broker_killed_after: 10s}
"""


def test_a_row_may_kill_a_broker() -> None:
    (row,) = small(LOSES).rows
    assert (row.setup.broker_killed_s, row.setup.min_insync_replicas) == (10.0, 2)
    assert row.planned_s > row.load_s + BROKERS_ANEW_S


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("brokers: 3}\nload: {replication: 3", "brokers: 2}\nload: {replication: 2", "at least 3 brokers"),
        ("brokers: 3", "bootstrap: 127.0.0.1:1", "brokers of yours"),
        ("killed_after: 10s", "killed_after: 30s", r"broker_killed_after < measured must hold.* has 30 s and 30 s"),
        ("load: {", "load: {producers: 0, consumers: 1, stored_bytes: 1MB, ", "needs producers"),
        ("min_insync_replicas: 2", "min_insync_replicas: 4", r"min_insync_replicas <= replication .* has 4 and 3"),
    ],
)
def test_a_broker_is_only_killed_if_that_can_be_measured(right: str, wrong: str, said: str) -> None:
    with pytest.raises(StudyFileError, match=said):
        small(LOSES.replace(right, wrong))


TREND: Final = """
about: Sizes.
vary: {record_bytes: [10, 100, 1000]}
rounds: 3
findings:
  - {id: grows, claim: It grows., source: us, metric: mb_per_s, along: record_bytes, expect: greater}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("along: record_bytes", "along: record_bytes, limit: 3", "or `along` with or without `of`"),
        ("along: record_bytes", "along: linger.ms", "at least 3 different numbers of linger.ms above 0, but 0"),
        ("10, 100, 1000]", "10, 100]", "but 2 were found"),
    ],
)
def test_a_trend_needs_three_numbers(right: str, wrong: str, said: str) -> None:
    assert small(TREND).findings[0].comparisons[0].along == "record_bytes"
    with pytest.raises(StudyFileError, match=said):
        small(TREND.replace(right, wrong))


def test_a_search_is_a_study_of_the_record_sizes_of_its_rows() -> None:
    spec = small(SEARCHES)
    (search,) = spec.searches
    study = search.study
    assert (study.name, [str(size) for size in study.workload.record_sizes]) == ("small-random", ["1000", "100"])
    assert (study.workload.partitions, study.baseline.values, study.executor) == (3, {"acks": "1"}, "simulated")
    assert [row.best_of for row in spec.rows] == [
        None,
        BestOf("random", Goal.LATENCY),
        BestOf("random", Goal.THROUGHPUT),
    ]
    # At most 24 s of burn-in, then 20 trials. Each has two phases of 1.1 s, and takes a second more.
    assert search.planned_s == pytest.approx(24 + 20 * 3.2)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("goal: latency", "goal: speed", "needs `search`, the name of a search, and `goal`"),
        ("search: random, goal: latency", "goal: latency", "needs `search`, the name of a search, and `goal`"),
        ("search: random, goal: latency", "search: grid, goal: latency", "'grid' must be one of"),
        ("goal: latency", "goal: latency, linger.ms: 5", "can't set linger.ms"),
        ("method: random", "method: randm", r"line 6, searches.random: search.method: .*random"),
        ("trials: 10", "hours: 1", "a search needs `trials`"),
        ("executor:", "client: java\n    executor:", "a search may have the sections workload, space"),
        ("goal: latency", "goal: latency, partitions: 6", "so it can't set partitions; put it into the section load"),
        ("  random:\n", "  quick:\n", "can't be named quick"),
        ("rows:\n", "  idle:\n    search: {trials: 3}\nrows:\n", "needs a row that takes its config from it"),
        ("config: {acks: 1}", "config: {acks: 2}", "acks"),
        ("executor: {kind: simulated}", "executor: local", "searches.random.executor: must be a section"),
        ("workload: {saturate", "workload: 5\n    space: {saturate", "searches.random.workload: must be a section"),
    ],
)
def test_a_wrong_search_is_refused(right: str, wrong: str, said: str) -> None:
    assert right in SEARCHES
    with pytest.raises(StudyFileError, match=said):
        small(SEARCHES.replace(right, wrong))


@pytest.mark.parametrize("quick", [False, True])
def test_the_name_of_a_quick_version_is_refused(quick: bool) -> None:
    told = "the name of an experiment must not end in -quick, as the names of quick versions do, but it is acks-quick"
    text = "about: Acks.\nvary: {acks: [1, all]}\n"
    with pytest.raises(StudyFileError, match=f"line 3, experiment: {told}"):
        small(f"{text}experiment: acks-quick\n", quick=quick)
    with pytest.raises(StudyFileError, match=f"experiment: {told}"):
        parse_experiment(text, name="acks-quick", folder=None, origin="acks-quick.yaml", environ={}, quick=quick)
    stored = parse_stored_experiment(f"{text}experiment: acks-quick\n", name="acks-quick", bootstrap=None)
    assert len(stored.rows) == 2


@pytest.mark.parametrize("name", ["a b", "mlflow.db", ""])
def test_an_experiment_is_not_named_after_a_file_whose_name_a_study_could_not_have(name: str) -> None:
    text = "about: Acks.\nvary: {acks: [1, all]}\n"
    with pytest.raises(StudyFileError, match="give the experiment a name"):
        parse_experiment(text, name=name, folder=None, origin="the file", environ={})
    named = parse_experiment(f"{text}experiment: acks\n", name=name, folder=None, origin="the file", environ={})
    assert named.name == "acks"
