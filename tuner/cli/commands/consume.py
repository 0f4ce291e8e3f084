"""`tuner consume` reads a topic with one or several consumers, and says how fast that is and what limits it."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from runners.consumer_runs.topic_consumption import KEPT, TopicConsumption, fill, read_while_writing
from runners.consumers.consumption import Consumption
from runners.consumers.reading import Reading, Start
from runners.consumers.reading_load import ReadWatch, read_on
from runners.load.isolated import Isolated
from runners.measurements.measurement import Measurement
from runners.reporting import counted, silent
from runners.runner import Limits
from runners.workload import Workload
from search_spaces.client import Client, client_of
from search_spaces.configs.producer_config import ProducerConfig, check_record
from tuner.cli.options import common_options, target_options
from tuner.cli.options.consume_options import OWN_TOPIC_PANEL, ConsumerOptions, OwnTopicOptions
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.workload_options import check_consumers
from tuner.cli.output import print_result
from tuner.execution.open_target import OpenTarget, open_alone
from tuner.model.measurement_json import consumption_json
from tuner.present.console import say
from tuner.present.measurements.consumption_view import CELLS, print_consumption, rest_of_line
from tuner.present.measurements.live_windows import live_windows


@with_options()
def consume(
    *,
    context: typer.Context,
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC",
            help="Topic of yours, such as orders. Without it, the tuner starts a broker and writes a topic of its own.",
            show_default=False,
        ),
    ] = None,
    consumers: ConsumerOptions,
    bootstrap: target_options.StartedOrBootstrap = None,
    command_config: target_options.CommandConfig = None,
    container: target_options.Container = None,
    brokers: target_options.Brokers = None,
    own: OwnTopicOptions,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Read a topic with consumers, and show how fast that is, what limited it, and that no record was missed.

    On your cluster, this needs the Read permission on the topic. There is no consumer group, no offset is committed,
    and nothing is written. Without TOPIC, the tuner starts a broker on this machine, fills a topic, and reads it.

    \b
    Examples:
        tuner consume
        tuner consume --consumers 3 --record-bytes 100 --fill 500MB
        tuner consume -X fetch.min.bytes=100000 -X fetch.wait.max.ms=100
        tuner consume --client java --record-bytes 100 --warmup 5 -X max.poll.records=5000
        tuner consume --start tail --rate 20000 --producer linger.ms=20
        tuner consume orders --bootstrap broker:9092 --command-config client.properties --consumers 3 --json
    """
    if (topic is None) != (bootstrap is None):
        raise typer.BadParameter(
            "give both TOPIC and --bootstrap, the address of the cluster that has the topic, or neither of them"
        )
    _refuse_unused(context, topic, consumers.start)
    alone = quiet or as_json
    tell = silent if alone else say
    client = client_of(consumers.client)
    reading = consumers.reading(tell)
    target_options.check_topic(topic, "TOPIC")
    target = target_options.target_of(bootstrap, command_config, container=container, brokers=brokers)
    opening = partial(open_alone, target, "tuner consume", say, tell)
    with nullcontext(read_on) if alone else live_windows("reading", rest_of_line, CELLS) as watch:
        if topic is not None:
            with opening() as opened:
                seen, written = TopicConsumption(opened.cluster, topic, reading, client=client).run(watch), None
        else:
            config, workload = own.producer_config(), own.workload()
            check_consumers(reading.consumers, workload.partitions)
            check_record(config, workload.record_sizes.largest_bytes, workload.key_bytes or None)
            sizes = common_options.size_of("--fill", own.amount), common_options.size_of("--max-bytes", own.max_bytes)
            with opening() as opened:
                seen, written = _own_topic(opened, client, reading, config, workload, *sizes, watch)
    print_result(consumption_json(seen, written), lambda: print_consumption(seen, written), as_json=as_json)


def _refuse_unused(context: typer.Context, topic: str | None, start: Start) -> None:
    """Refuse options that would have no effect, because they need a topic of our own or another start."""
    panels = {
        option.opts[0]: getattr(option, "rich_help_panel", None)
        for option in context.command.params
        if option.name and (source := context.get_parameter_source(option.name)) and source.name == "COMMANDLINE"
    }
    if topic is not None and (own := [name for name, panel in panels.items() if panel == OWN_TOPIC_PANEL]):
        raise typer.BadParameter(
            f"with TOPIC, the tuner writes nothing, so these options have no effect: {', '.join(own)}; leave them out"
        )
    needed = {"--fill": Start.BEGINNING, "--rate": Start.TAIL, "--max-bytes": Start.TAIL}
    for name in panels:
        if needed.get(name, start) is not start:
            raise typer.BadParameter(f"{name} needs --start {needed[name]}, but got {start}")


def _own_topic(
    opened: OpenTarget,
    client: Client,
    reading: Reading,
    config: ProducerConfig,
    workload: Workload,
    fill_bytes: int,
    max_bytes: int,
    watch: ReadWatch,
) -> tuple[Consumption, Measurement | None]:
    """Read a topic of our own, which is filled before or during the reading."""
    if reading.start is Start.TAIL:
        topic = opened.topics.create(workload.partitions, workload.replication)
        runner = Isolated(opened.on_topic(topic, limits=Limits(max_bytes=max_bytes)))
        at_rate = "as fast as possible" if workload.rate_records_per_s is None else "at the given rate"
        opened.progress(f"a producer writes to topic {topic.name} {at_rate} while it is read")
        consumption = TopicConsumption(opened.cluster, topic.name, reading, sole_writer=True, client=client)
        return read_while_writing(consumption, runner, config, workload, watch)
    records = max(1, int(fill_bytes // workload.record_sizes.mean_bytes))
    topic = opened.topics.create(workload.partitions, workload.replication, KEPT)
    size = f"{counted(records, 'record')} ({records * workload.record_sizes.mean_bytes / 1e9:.2f} GB of values)"
    opened.progress(f"writing {size} to topic {topic.name}, which is deleted at the end")
    fill(opened.cluster, topic, config, replace(workload, rate_records_per_s=None), records, Limits())
    consumption = TopicConsumption(opened.cluster, topic.name, reading, sole_writer=True, client=client)
    return consumption.run(watch), None
