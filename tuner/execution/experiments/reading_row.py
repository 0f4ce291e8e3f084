"""Measures a row of an experiment whose consumers read stored records: fills a topic, and then reads it."""

import time
from dataclasses import replace
from typing import Any

from objectives.consumer_verdict import ReadEvidence, judge_reading
from objectives.row_metrics import read_metrics_of
from runners.clusters.topics.owned_topics import Topic
from runners.consumer_runs.topic_consumption import TopicConsumption, fill_bytes
from runners.consumers.consumption import Consumption
from runners.consumers.reading import Reading
from runners.errors import RunnerError
from runners.runner import Limits
from search_spaces.client import ClientKind
from tuner.execution.open_target import OpenTarget
from tuner.execution.trials.trial_job import StartedTrial
from tuner.execution.trials.trial_target import FILLING
from tuner.model.measurement_json import consumption_json
from tuner.model.row import Row
from tuner.model.spec import SafetySpec
from tuner.model.trial import State, Trial


def measure_reading(
    opened: OpenTarget, row: Row, started: StartedTrial, safety: SafetySpec
) -> tuple[Trial, dict[str, Any], RunnerError | None]:
    """Fill a topic, let the row's consumers read it, and return the trial, its attachments and its error.

    librdkafka fills the topic with the row's config. If the row's config is for the Java client, librdkafka fills the
    topic in large batches instead. The topic is deleted at the end.

    Args:
        opened: The target.
        row: The row, which has consumers and no producers.
        started: The trial, whose config is that of the row.
        safety: Limits that protect the cluster.
    """
    error: RunnerError | None = None
    consumption, sent_bytes = None, 0
    try:
        with opened.topic_for_run(setup=row.setup)(row.workload) as topic:
            limits = Limits(safety.max_bytes_per_trial, safety.min_free_disk_bytes)
            sent_bytes = row.setup.stored_bytes  # if filling fails, the largest number of bytes that it may have sent
            filling = row.config if row.config.client.kind is ClientKind.LIBRDKAFKA else FILLING
            sent_bytes = fill_bytes(opened.cluster, topic, filling, row.workload, row.setup.stored_bytes, limits)
            consumption = _read(opened, topic, row)
    except RunnerError as failure:
        error = failure
    verdict = judge_reading(ReadEvidence.of(consumption)) if consumption is not None else None
    trial = replace(
        started.ended(State.FAILED if consumption is None else State.COMPLETE, verdict, time.monotonic()),
        metrics={} if consumption is None else read_metrics_of(consumption),
        error="" if error is None else str(error),
        warnings=() if consumption is None else (*consumption.warnings, *consumption.counts.differences()),
        load_s=0.0 if consumption is None else consumption.duration_s,
        sent_bytes=sent_bytes,
    )
    return trial, {} if consumption is None else {"consumption": consumption_json(consumption)}, error


def _read(opened: OpenTarget, topic: Topic, row: Row) -> Consumption:
    load = row.workload
    reading = Reading(consumers=load.consumers, warmup_s=load.warmup_s, measured_s=load.measured_s)
    return TopicConsumption(opened.cluster, topic.name, reading, True, row.config.client).run()
