"""`tuner compare-clients` finds out which client is faster with a workload: librdkafka or the Java client."""

from pathlib import Path
from typing import Annotated, Final

import typer

from search_spaces.client import Client, ClientKind, java, librdkafka
from search_spaces.configs.producer_config import same_effect
from search_spaces.errors import UnknownClient
from search_spaces.files.producer_file import FileClient
from tuner.api import load_study
from tuner.cli.options import common_options, target_options, workload_options
from tuner.cli.output import print_result
from tuner.cli.running.own_study import free_name, run_own_study, study_of_options
from tuner.model.spec import Executor
from tuner.present.comparisons.client_comparison_view import client_comparison_lines, comparison_warnings
from tuner.present.console import OUT, say, warn, warn_of_each
from tuner.present.recommendations.recommendation_words import not_advice
from tuner.results.comparisons.client_comparison import ClientsToCompare, Side, comparison_of
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_results import SIMULATED
from tuner.storage.locations import storage_at

_STEM: Final = "compare-clients"
_STUDY_FILES: Final = (".yaml", ".yml")


def compare_clients(
    record_bytes: Annotated[
        str, typer.Option(metavar="N|N:W,...", help="Record size, such as 1000, or mix of sizes: 100:70,1000:30.")
    ] = "1000",
    client_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Release of the Java client, such as 3.9.1.",
            show_default="that of the study given with --java, or the newest that is known",
        ),
    ] = None,
    for_librdkafka: Annotated[
        str | None,
        typer.Option(
            "--librdkafka",
            metavar="STUDY|FILE",
            help="Also compare this config of librdkafka: what a study recommends, or a properties file.",
        ),
    ] = None,
    for_java: Annotated[
        str | None,
        typer.Option(
            "--java",
            metavar="STUDY|FILE",
            help="Also compare this config of the Java client: what a study recommends, or a properties file.",
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=2, help="Number of rounds. One round measures each config of both clients once.")
    ] = 8,
    seconds: Annotated[float, workload_options.seconds(twice=True)] = 10.0,
    warmup: Annotated[float, workload_options.warmup(twice=True)] = 2.0,
    bootstrap: target_options.Bootstrap = None,
    command_config: target_options.CommandConfig = None,
    container: target_options.Container = None,
    executor: Annotated[Executor, common_options.executor()] = Executor.LOCAL,
    as_json: common_options.Json = False,
    quiet: common_options.Quiet = False,
) -> None:
    """Measure the same workload with librdkafka and with the Java client, in turn, to see which is faster.

    Both clients are compared at their defaults. With --librdkafka or --java, the same rounds also measure the given
    configs, which are compared with each other. If only one is given, it is compared with the other client's defaults.

    Three numbers have a ratio with a confidence interval: the throughput when records are sent as fast as the client
    takes them, the p99 latency at the same fixed rate for all (30 % of the throughput of librdkafka's defaults), and
    the CPU time that the client takes for each MB. The probability that any of the intervals is wrong is at most 5 %.

    Before the rounds, burn-in runs (measurements that do not count) bring the brokers and the clients to a steady
    state. All measurements are kept as a study.

    \b
    Examples:
        tuner compare-clients --record-bytes 1000
        tuner compare-clients --record-bytes 100 --client-version 3.9.1 --rounds 12 --json
        tuner compare-clients --record-bytes 1000 --librdkafka overnight --java overnight-java
        tuner compare-clients --java producer.properties --bootstrap broker:9092
    """
    storage = storage_at()
    spec, text = study_of_options(
        free_name(_STEM, storage),
        record_bytes,
        bootstrap=bootstrap,
        command_config=command_config,
        container=container,
        seconds=seconds,
        warmup=warmup,
        executor=executor,
    )
    if len(spec.workload.record_sizes) > 1:
        raise typer.BadParameter(
            f"clients are compared with one record size, or a mix such as 100:70,1000:30, but got {record_bytes}"
        )
    size = str(spec.workload.record_sizes[0])
    silent = quiet or as_json
    with common_options.as_usage_error(UnknownClient, option="--client-version"):
        named_java = None if client_version is None else java(client_version)
    wanted_java = named_java or java()
    sides = {
        client.kind: _side(source, client, size, silent=silent)
        for source, client in ((for_librdkafka, librdkafka()), (for_java, wanted_java))
        if source is not None
    }
    measured = sides[ClientKind.JAVA].config.client if ClientKind.JAVA in sides else wanted_java
    if named_java is not None and measured != named_java:
        raise typer.BadParameter(
            f"--client-version must be that of {for_java}, which measured {measured.identity}, but got "
            f"{client_version}; leave it out"
        )
    clients = ClientsToCompare(measured, sides, rounds)
    for side in sides.values():
        if same_effect(side.config.effective_values, clients.defaults[side.kind].config.effective_values):
            raise typer.BadParameter(
                f"{side.source} must differ from the defaults of {side.kind} to be compared, but both configure the "
                "producer in the same way; leave it out"
            )
    results = run_own_study(clients.study(spec), text, _STEM, storage, silent=silent)
    comparison = comparison_of(results, clients)
    print_result(comparison.as_json(), lambda: OUT.show(*client_comparison_lines(comparison)), as_json=as_json)
    if not silent:
        say(f"`tuner trials {comparison.study} --json` shows all measurements")
    warn_of_each(comparison_warnings(comparison))
    if comparison.simulated:
        warn(SIMULATED)


def _side(source: str, client: Client, record_bytes: str, *, silent: bool) -> Side:
    """Return the config that a study recommends for a record size, or that a properties file holds.

    Args:
        source: The study's name, folder or file, or the properties file.
        client: The client that the config must be for. A study may have measured another version of it.
        record_bytes: The record size.
        silent: Whether to leave out the notes about the file.

    Raises:
        typer.BadParameter: The study measured another client.
        NoFeasibleConfig: The study recommends nothing.
        StudyNotFound: There is neither a file nor a study of this name.
        ConfigError: The file can't be used.
    """
    path = Path(source)
    if path.is_file() and path.suffix not in _STUDY_FILES:
        return Side(common_options.config_of_file(path, FileClient(client.kind), client, silent=silent), path.name)
    recommendation = recommend(load_study(source).results, record_bytes)
    if recommendation.config.client.kind is not client.kind:
        raise typer.BadParameter(
            f"--{client.kind} must name a study of {client.kind}, but {source} measured "
            f"{recommendation.config.client.identity}"
        )
    for warning in (*recommendation.warnings, not_advice(recommendation)):
        if warning:
            warn(f"{source}: {warning}")
    return Side(recommendation.config, recommendation.study)
