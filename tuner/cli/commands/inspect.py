"""`tuner inspect` reads some record batches of a topic, or of all, and says what their producers do."""

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, NamedTuple

import typer

from runners.clusters.topics.stored_topics import StoredTopic, StoredTopics
from runners.errors import WorkloadRefused
from runners.inspection.batch_reader import BatchReader
from runners.inspection.batch_sampling import (
    LEAST_BYTES,
    BatchSample,
    SampleLimits,
    sample_batches,
)
from runners.performance_model.constants import REMOTE_JAVA
from runners.reporting import counted
from tuner.cli.options import common_options, target_options
from tuner.cli.output import print_json, print_result
from tuner.inspection.topic_savings import Inspection, inspection_of, rank_topics
from tuner.model.errors import NotPredictable
from tuner.prediction.advice import Advice, advice
from tuner.prediction.calibration import Calibration, uncalibrated
from tuner.prediction.prediction_source import read_source
from tuner.present.console import OUT, say, warn_of_each
from tuner.present.predictions.advice_view import advice_json, advice_lines
from tuner.present.topics.inspection_view import inspection_json, print_inspection, print_ranking, ranking_json
from tuner.present.topics.inspection_words import why_unusable
from tuner.storage.locations import find_study

_PERIOD_S: Final = 24 * 60 * 60
_BATCHES: Final = 1_000
_BATCHES_OF_EACH: Final = 50
_TOP: Final = 20


class _Calibrated(NamedTuple):
    """The performance model, what calibrates it, and what makes that less reliable, in sentences."""

    calibration: Calibration
    study: str | None
    simulated: bool = False
    warnings: tuple[str, ...] = ()


def inspect(
    topic: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="Topic of yours, such as orders.", show_default=False)
    ] = None,
    all_topics: Annotated[
        bool, typer.Option("--all", help="Inspect all topics, and rank them by what could be saved.")
    ] = False,
    bootstrap: target_options.TopicBootstrap = None,
    command_config: target_options.CommandConfig = None,
    batches: Annotated[
        int | None,
        typer.Option(
            min=10,
            max=100_000,
            help="About how many of the newest record batches of a topic to read.",
            show_default=f"{_BATCHES}, with --all {_BATCHES_OF_EACH}",
        ),
    ] = None,
    max_bytes: Annotated[
        str, typer.Option(metavar="SIZE", help="The highest number of bytes to read, over all topics; at least 1MB.")
    ] = "20MB",
    top: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --all: how many topics to print.", show_default=f"{_TOP}, with --json all of them"
        ),
    ] = None,
    advise: Annotated[
        bool,
        typer.Option(
            "--advise", help="Also estimate what other settings would do: batches, bytes, CPU of the brokers, latency."
        ),
    ] = False,
    calibrated_by: Annotated[
        str | None,
        typer.Option(
            metavar="STUDY",
            help="With --advise: study or calibration on the same cluster, which makes the intervals narrower.",
            show_default=False,
        ),
    ] = None,
    as_json: common_options.Json = False,
) -> None:
    """Read some of a topic's newest record batches, and say how its producers batch and compress today.

    The command shows how many records and bytes a batch has, which codec it has, and whether its producer is idempotent
    or uses transactions. It infers linger.ms and batch.size if the batches show them. And it computes what larger
    batches and each codec would save. It needs no producer and no config, and makes no load. It does not store or show
    keys and values, and writes nothing to the cluster. You need the Read permission on the topic, which includes
    Describe.

    With --all, topics are ranked by what would be saved in the last 24 hours if each producer waited up to 20 ms for
    batches of up to 64 KiB, and used the best codec. The rank comes from the mean of two shares: the saved batches
    divided by the batches of all topics, and the saved bytes divided by the bytes of all topics. Topics that you may
    not read, or that have no record in this time, are listed below the ranking. Internal topics are left out.

    \b
    Examples:
        tuner inspect orders --bootstrap broker:9092
        tuner inspect orders --bootstrap broker:9092 --command-config client.properties --json
        tuner inspect orders --bootstrap broker:9092 --advise
        tuner inspect --all --bootstrap broker:9092 --max-bytes 20MB
    """
    if bootstrap is None:
        raise typer.BadParameter("--bootstrap is required: the address of the cluster that has the topic")
    if (topic is None) is not all_topics:
        raise typer.BadParameter("name one topic to inspect, such as orders, or give --all to inspect all of them")
    if (advise and all_topics) or (calibrated_by and not advise):
        raise typer.BadParameter("--advise is for one topic, and --calibrated-by is for --advise")
    if top is not None and not all_topics:
        raise typer.BadParameter("--top is for --all, which ranks all topics")
    model = _calibrated(calibrated_by) if advise else None
    if model is not None:
        warn_of_each(model.warnings)
    most_bytes = common_options.size_of("--max-bytes", max_bytes)
    limits = SampleLimits(batches or (_BATCHES_OF_EACH if all_topics else _BATCHES), most_bytes)
    if limits.most_bytes < LEAST_BYTES:
        raise typer.BadParameter(f"--max-bytes must be at least {LEAST_BYTES:,} bytes, but got {max_bytes}")
    target_options.check_topic(topic, "TOPIC")
    since_ms = int((time.time() - _PERIOD_S) * 1e3)
    with target_options.users_cluster(bootstrap, command_config) as cluster:
        stored = StoredTopics(cluster.connection)
        if topic is not None:
            config = () if command_config is None else ("--command-config", str(command_config))
            named = shlex.join(["--bootstrap", bootstrap, *config])
            _inspect_one(cluster.connection, stored.one(topic, since_ms), limits, model, named, as_json=as_json)
        else:
            topics, refused = stored.readable(since_ms)
            _inspect_all(cluster.connection, topics, refused, limits, top, as_json=as_json)


def _calibrated(study: str | None) -> _Calibrated:
    """Return the performance model with the constants that a study calibrates, or with those of another cluster."""
    if study is None:
        return _Calibrated(uncalibrated(REMOTE_JAVA), None)
    source = read_source(find_study(study))
    return _Calibrated(source.calibrated(), study, source.simulated, source.warnings)


def _advice(inspection: Inspection, calibration: Calibration, replication: int) -> Advice:
    estimates = advice(inspection, calibration, _PERIOD_S, replication)
    if estimates is None:
        raise NotPredictable(
            f"an estimate needs the rate of the producers, but {inspection.topic} got no record in the last 24 hours; "
            "leave --advise out"
        )
    return estimates


def _inspect_one(
    connection: Mapping[str, str],
    topic: StoredTopic,
    limits: SampleLimits,
    model: _Calibrated | None,
    cluster: str,
    *,
    as_json: bool,
) -> None:
    if not topic.records:
        raise typer.BadParameter(
            f"a topic that is inspected must have records, but {topic.name} is empty; name another topic"
        )
    say(f"reading about {limits.batches:,} of the newest batches of {topic.name}")
    (sample,), received_bytes = _sampled(connection, [topic], limits)
    inspection = inspection_of(sample)
    if inspection is None:
        raise WorkloadRefused(f"no record batch of {topic.name} can be used: {why_unusable(sample)}")
    if as_json:
        record = inspection_json(inspection, sample, received_bytes)
        try:
            if model is not None:
                estimates = _advice(inspection, model.calibration, topic.replication)
                record["advice"] = advice_json(estimates, topic.name, model.study, cluster, simulated=model.simulated)
        finally:
            print_json(record)  # what was read is shown, even if no advice follows from it
        return
    print_inspection(inspection, sample, received_bytes)
    if model is not None:
        estimates = _advice(inspection, model.calibration, topic.replication)
        OUT.print()
        OUT.show(*advice_lines(estimates, topic.name, model.study, cluster))


def _inspect_all(
    connection: Mapping[str, str],
    topics: Sequence[StoredTopic],
    refused: Sequence[str],
    limits: SampleLimits,
    top: int | None,
    *,
    as_json: bool,
) -> None:
    unread = dict.fromkeys(refused, "the Read permission is missing")
    unread |= {each.name: "no record in the last 24 hours" for each in topics if not each.recent}
    written = [each for each in topics if each.recent]
    if written:
        say(f"reading about {limits.batches:,} of the newest batches of each of {counted(len(written), 'topic')}")
    samples, received_bytes = _sampled(connection, written, limits) if written else ([], 0)
    inspections = []
    for sample in samples:
        if (inspection := inspection_of(sample)) is not None:
            inspections.append(inspection)
        else:
            unread[sample.topic.name] = next(iter(sample.unread.values()), "none of its batches can be used")
    rows = rank_topics(inspections)
    print_result(
        ranking_json(rows[:top], unread, received_bytes, _PERIOD_S),
        lambda: print_ranking(rows, unread, received_bytes, top or _TOP),
        as_json=as_json,
    )


def _sampled(
    connection: Mapping[str, str], topics: Sequence[StoredTopic], limits: SampleLimits
) -> tuple[list[BatchSample], int]:
    brokers = {each.leader for topic in topics for each in topic.partitions}
    with BatchReader(connection, brokers, limits.most_response_bytes, say) as reader:
        return sample_batches(reader, topics, limits), reader.received_bytes
