"""The table of the commands, on this host and on a service, with the first sentence of the help of each."""

from collections.abc import Mapping
from typing import Final

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "run": (
        "commands.run:run",
        "Search for the best producer configs, and confirm the winners against your current config.",
    ),
    "init": (
        "commands.init:init",
        "Write a new study file that lists the settings with their defaults and explains them.",
    ),
    "plan": (
        "commands.plan:plan",
        "Show what a study would do, without any traffic: trials, time, bytes, search space, topics that it creates.",
    ),
    "schema": (
        "commands.schema:schema",
        "Print the JSON Schema of study files, so that an editor can check and complete them.",
    ),
    "status": (
        "commands.status:status",
        "Show the progress of a study: trials done, best results so far, time left, current step, failures.",
    ),
    "studies": (
        "commands.studies:studies",
        "List your studies, newest first. Each line shows the state, the trials and the best proven gain.",
    ),
    "trials": ("commands.trials:trials", "Show the trials of a study: kind, metrics and config of each."),
    "front": (
        "commands.front:front",
        "Show the Pareto front of a study: the configs that no other config dominates.",
    ),
    "grid": ("commands.grid:grid", "Show the tables of a grid search: each metric by the values of two knobs."),
    "recommend": (
        "commands.recommend:recommend",
        "Show the config to use for each record size, with its measured gain, ready to paste.",
    ),
    "confirm": (
        "commands.confirm:confirm",
        "Measure the best configs of a study again, alternating with the baseline, to see which gains are real.",
    ),
    "verify": (
        "commands.verify:verify",
        "Measure a properties file alternating with the baseline, and end with exit code 99 if the file is worse.",
    ),
    "lint": (
        "commands.lint:lint",
        "Check a producer's properties file for mistakes and for lines that do nothing, and explain its values.",
    ),
    "translate": (
        "commands.translate:translate",
        "Translate a producer's properties file from librdkafka to the Java client, or back.",
    ),
    "explain": (
        "commands.explain:explain",
        "Explain a recommendation: what each changed property brings, and which knobs mattered in the whole search.",
    ),
    "compare": (
        "commands.compare:compare",
        "Compare the Pareto fronts of two studies, and their best configs for each record size and goal.",
    ),
    "report": (
        "commands.report:report",
        "Write the report of a study, with recommendations, fronts and all trials, as one HTML file.",
    ),
    "export": (
        "commands.export:export",
        "Export a study to Optuna, for optuna-dashboard and optuna.visualization.",
    ),
    "experiment": (
        "commands.experiment:app",
        "Measure a fixed list of configs and loads in rounds, or repeat the experiments of five papers.",
    ),
    "cost": (
        "commands.cost:cost",
        "Compute what a terabyte costs with the baseline and with the recommended config, from your unit prices.",
    ),
    "calibrate": (
        "commands.calibrate:calibrate",
        "Measure a few configs that calibrate the performance model, for tuner predict without a study.",
    ),
    "predict": (
        "commands.predict:predict",
        "Predict what a config would do, from what a study has measured, without sending anything.",
    ),
    "fork": ("commands.fork:fork", "Begin a new study with those trials of another study that fit the new settings."),
    "rm": ("commands.rm:rm", "Remove studies for good: their results, and their folders on this host."),
    "ui": ("commands.ui:ui", "Show your studies in the MLflow UI, on this machine, until Ctrl-C."),
    "sync": (
        "commands.sync:sync_study",
        "Bring MLflow up to date with a study, for example after the MLflow server was down.",
    ),
    "bench": ("commands.bench:bench", "Measure one producer config: its throughput, its latency, and what limited it."),
    "consume": (
        "commands.consume:consume",
        "Read a topic with consumers, and show how fast that is, what limited it, and that no record was missed.",
    ),
    "doctor": (
        "commands.doctor:doctor",
        "Check this host and your cluster, and measure how fast the load generator is on this host.",
    ),
    "sample": (
        "commands.sample:sample",
        "Read some of a topic's newest records, and show their sizes, keys, compressibility and rate.",
    ),
    "inspect": (
        "commands.inspect:inspect",
        "Read some of a topic's newest record batches, and say how its producers batch and compress today.",
    ),
    "cleanup": (
        "commands.cleanup:cleanup",
        "List the topics that earlier tuner runs left on a cluster, and delete them with --remove.",
    ),
    "compare-tools": (
        "commands.compare_tools:compare_tools",
        "Measure the same workload with the tuner's load generator and with Kafka's ProducerPerformance, in turn.",
    ),
    "compare-clients": (
        "commands.compare_clients:compare_clients",
        "Measure the same workload with librdkafka and with the Java client, in turn, to see which is faster.",
    ),
    "serve": (
        "commands.serve:app",
        "Run the HTTP service, which runs the studies you submit and returns recommendations.",
    ),
    "broker": ("commands.broker:app", "Start and stop a real Kafka broker on this machine. It runs until you stop it."),
}
"""Each command of `tuner` with `module:function`, which implements it, and the first sentence of its help.

The sentences are copies of those in the functions, so that `tuner --help` can print them without importing the modules.
"""
SERVICE_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "run": ("service_commands.submission:run", "Submit a study to the service, and follow it until it ends."),
    "plan": (
        "service_commands.submission:plan",
        "Show what a study would do on the service, without any traffic: trials, time, bytes, search space.",
    ),
    "status": ("service_commands.studies:status", "Show the progress of a study on the service."),
    "trials": (
        "service_commands.results:trials",
        "Show the trials of a study on the service: kind, metrics and config of each.",
    ),
    "front": ("service_commands.results:front", "Show the Pareto front of a study on the service."),
    "grid": ("service_commands.results:grid", "Show the tables of a grid search on the service."),
    "recommend": (
        "service_commands.results:recommend",
        "Show the config to use, from a study on the service, ready to paste.",
    ),
    "report": ("service_commands.results:report", "Write the report of a study on the service as one HTML file."),
    "studies": (
        "service_commands.studies:studies",
        "List the studies on the service, newest first, with their state, their trials and the best gain that is "
        "proven.",
    ),
    "explain": (
        "service_commands.results:explain",
        "Explain a recommendation of a study on the service: what each changed property brings, which knobs mattered.",
    ),
    "predict": (
        "service_commands.results:predict",
        "Predict what a config would do, from what a study on the service has measured, without sending anything.",
    ),
    "compare": (
        "service_commands.results:compare",
        "Compare two studies on the service: the fronts, and the best configs for each record size and goal.",
    ),
    "confirm": (
        "service_commands.confirm_verify_fork:confirm",
        "Have the service measure the best configs of a study again, alternating with the baseline.",
    ),
    "verify": (
        "service_commands.confirm_verify_fork:verify",
        "Have the service measure a properties file alternating with the baseline; exit code 99 if the file is worse.",
    ),
    "fork": (
        "service_commands.confirm_verify_fork:fork",
        "Have the service begin a new study with those trials of another study that fit the new settings.",
    ),
    "rm": (
        "service_commands.confirm_verify_fork:rm",
        "Remove studies from the service for good. The command asks before it removes anything.",
    ),
    "sync": (
        "service_commands.confirm_verify_fork:sync",
        "Have the service bring MLflow up to date with a study, for example after the MLflow server was down.",
    ),
    "pause": ("service_commands.submission:pause", "Stop a study on the service until you resume it."),
    "resume": ("service_commands.submission:resume", "Continue a study on the service that was paused or that failed."),
    "cancel": ("service_commands.submission:cancel", "Stop a study on the service for good; its results are kept."),
}
"""The commands that a service offers, in the form of `COMMANDS`. They replace local ones if a service is named."""
MEASURING_COMMANDS: Final = frozenset(
    {"run", "confirm", "verify", "calibrate", "bench", "consume", "doctor", "compare-tools", "compare-clients"}
    | {"experiment run", "broker start", "broker run", "broker stop"}
)
"""The commands of `COMMANDS` that create topics or start processes, and so have something to clean up after Ctrl-C."""
