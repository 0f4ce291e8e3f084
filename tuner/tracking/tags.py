"""The names of all tags that we set in MLflow. They never change: MLflow keeps the tags of earlier releases."""

from typing import Final

# Of runs, under MLflow's own names.
PARENT: Final = "mlflow.parentRunId"
NOTE: Final = "mlflow.note.content"

# Of the runs of studies and of experiments.
STUDY_ID: Final = "tuner.study_id"
STUDY: Final = "tuner.study"
KEY: Final = "tuner.key"
KIND: Final = "tuner.kind"
"""The kind of a run: `STUDY_KIND`, `EXPERIMENT_KIND`, or the kind of a trial."""
STUDY_KIND: Final = "study"
EXPERIMENT_KIND: Final = "experiment"
RECORD_BYTES: Final = "tuner.record_bytes"
CLIENT: Final = "tuner.client"
CLIENT_VERSION: Final = "tuner.client_version"
BROKER_VERSION: Final = "tuner.broker_version"
VERDICT: Final = "tuner.verdict"
ERROR: Final = "tuner.error"
ROUND: Final = "tuner.round"
ROUNDS: Final = "tuner.rounds"
ROW: Final = "tuner.row"
FILES: Final = "tuner.files"
HISTOGRAMS: Final = "tuner.histograms"
MOVED_TO: Final = "tuner.moved_to"
"""The experiment that a study is in now, on the runs that it left behind in another experiment."""

# Of the run of a record size.
GOALS: Final = "tuner.goals"
"""The goals for which there is a recommendation now. MLflow keeps the files of a recommendation that was withdrawn."""
PICTURE: Final = "tuner.picture"
"""The artifact of a parent run that shows the front. The run's description shows it."""
RATE: Final = "tuner.rate_records_per_s"
HOST: Final = "tuner.host."
CLUSTER: Final = "tuner.cluster."

# Of the run of a trial.
TRIAL: Final = "tuner.trial"
FEASIBLE: Final = "tuner.feasible"
FLAGGED: Final = "tuner.flagged"
GUARANTEE: Final = "tuner.guarantee"
FINGERPRINT: Final = "tuner.fingerprint"
PARETO: Final = "tuner.pareto"
RECOMMENDED: Final = "tuner.recommended"
WORKER: Final = "tuner.worker"
STOPPED_EARLY: Final = "tuner.stopped_early"
CHANGED: Final = "tuner.changed"
CONFIG: Final = "tuner.config"

# Of MLflow's experiments.
VIEW: Final = "mlflow.sharedViewState."
