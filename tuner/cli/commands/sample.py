"""`tuner sample` reads some records of a topic, and describes them so that a study can send similar ones."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from runners.clusters.topics.stored_topics import StoredTopics
from runners.clusters.topics.topic_reader import newest_records
from runners.inspection.topic_sample import SampleCount
from tuner.cli.options import common_options, target_options
from tuner.cli.output import STANDARD_OUTPUT, Force, check_output, print_result, write_output
from tuner.present.console import ERR, OUT, say
from tuner.present.topics.sample_view import print_sample, sample_json, sampled_study
from tuner.study_file import name_line


def sample(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic of yours, such as orders.")],
    bootstrap: target_options.TopicBootstrap = None,
    command_config: target_options.CommandConfig = None,
    records: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="How many of the newest records to read, over all partitions.")
    ] = 10_000,
    max_bytes: Annotated[str, typer.Option(metavar="SIZE", help="The highest number of bytes to read.")] = "20MB",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write a study file with such records, for `tuner run`."),
    ] = None,
    force: Force = False,
    as_json: common_options.Json = False,
) -> None:
    """Read some of a topic's newest records, and show their sizes, keys, compressibility and rate.

    Only statistics are kept; no key and no value is stored or shown. Nothing is written to the cluster. This needs the
    Read permission on the topic.

    \b
    Examples:
        tuner sample orders --bootstrap broker:9092
        tuner sample orders --bootstrap broker:9092 --command-config client.properties -o orders.yaml
        tuner sample orders --bootstrap broker:9092 --records 100000 --max-bytes 200MB --json
    """
    if bootstrap is None:
        raise typer.BadParameter("--bootstrap is required: the address of the cluster that has the topic")
    largest_bytes = common_options.size_of("--max-bytes", max_bytes)
    if as_json and output == STANDARD_OUTPUT:
        raise typer.BadParameter("--json and --output - both write to standard output; name a file, or leave one out")
    check_output(output, force=force)
    target_options.check_topic(topic, "TOPIC")
    with target_options.users_cluster(bootstrap, command_config) as cluster:
        stored = StoredTopics(cluster.connection).one(topic)
        if not stored.records:
            raise typer.BadParameter(
                f"a topic that is sampled must have records, but {topic} is empty; name another topic"
            )
        asked = min(records, stored.records)
        say(f"reading the newest {asked:,} of up to {stored.records:,} records of {topic}")
        counted = SampleCount()
        counted.add(newest_records(cluster.connection, stored, records), largest_bytes)
    sampled = counted.result(len(stored.partitions))
    if not sampled.records:
        raise typer.BadParameter(
            f"a topic that is sampled must have records that a consumer gets, but the newest {asked:,} offsets of "
            f"{topic} have none: their transactions were aborted or are not finished, or their records were deleted; "
            "raise --records to read earlier ones, or name another topic"
        )
    table = ERR if output == STANDARD_OUTPUT else OUT
    print_result(sample_json(topic, sampled), lambda: print_sample(topic, sampled, table), as_json=as_json)
    if output is None:
        return
    if not sampled.sizes:
        raise typer.BadParameter(
            f"a study needs records with values, but all records of {topic} are tombstones; name another topic, or "
            "leave --output out"
        )
    beside = None if command_config is None else os.path.relpath(command_config, output.parent)
    text = sampled_study(topic, sampled, bootstrap, beside)
    if output == STANDARD_OUTPUT:
        write_output(output, text)
        return
    write_output(output, name_line(str(output)) + text, force=force)
    say(f"wrote {output}; next: tuner plan {shlex.quote(str(output))}")
