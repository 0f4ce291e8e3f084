"""Runs a short study and imports the modules that the study does not need, so that all bytecode is compiled.

The build of the container image runs this script, because the image's files can't be written later. The script fails if
the study fails, because an image that can't run a study is useless.
"""

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_STUDY: Final = """
study: {name: warm}
workload:
  record_bytes: [1000]
  saturate: {warmup: 0.2s, measured: 0.5s}
  paced: {warmup: 0.2s, measured: 0.5s}
search: {trials: 3, startup_trials: 2, burn_in_max: 2}
confirm: {goals: [balanced], nominees: 1, rounds: 3, max_rounds: 3, undo_rounds: 0}
"""
_NO_FEASIBLE_CONFIG: Final = 5
"""The exit code of a study that found no feasible config.

It is accepted, because on a busy machine it can happen that no config keeps up with the rate.
"""
_BESIDES: Final = (
    "runners.java_client.java_runner",
    "tuner.client",
    "tuner.service.http.server",
    "tuner.storage.postgres",
    "mlflow.cli",
    "mlflow.server.fastapi_app",
    "mlflow.store.tracking.sqlalchemy_store",
    "psycopg",
)


def main() -> int:
    """Run the study, import the modules, and return the exit status."""
    tuner = Path(sys.executable).with_name("tuner")
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "KAFKA_TUNER_HOME": folder, "KAFKA_TUNER_STUDIES": f"{folder}/studies"}
        study = Path(folder, "warm.yaml")
        study.write_text(_STUDY, encoding="utf-8")
        ran = subprocess.run([tuner, "run", study], env=environ, check=False)
        if ran.returncode not in (0, _NO_FEASIBLE_CONFIG):
            return ran.returncode
        subprocess.run([tuner, "--help"], env=environ, check=True, stdout=subprocess.DEVNULL)
        # MLflow's server needs the URI of its store as soon as it is imported.
        os.environ["MLFLOW_BACKEND_STORE_URI"] = f"sqlite:///{folder}/mlflow.db"
        for module in _BESIDES:
            importlib.import_module(module)
    return 0


if __name__ == "__main__":
    sys.exit(main())
