"""YAML that the documents show is what the program reads: study files, parts of them, experiment and service files.

A block with keys of a study file is one, or a part of one: then `workload` is added to it. A block that has no such
key, such as a manifest of Kubernetes, is read as YAML and nothing more.
"""

import re
from pathlib import Path

import pytest
import yaml

from runners.simulated import SimulatedRunner
from tests.docs.pages import Block, blocks, is_experiment
from tests.helpers.small_experiment import ToldOfExperiment
from tuner.execution.experiments.experiment import measure_experiment
from tuner.experiment_file import parse_experiment
from tuner.results.experiments.checked_findings import FindingOutcome
from tuner.results.experiments.experiment_results import load_experiment
from tuner.service.config import ServiceFile, load_config
from tuner.study_file import json_schema, parse_study

STUDY_KEYS = frozenset(json_schema()["properties"])
SERVICE_KEYS = frozenset(ServiceFile.model_fields) - STUDY_KEYS
YAML_BLOCKS = [block for block in blocks() if block.language in ("yaml", "yml")]


def keys_of(block: Block) -> frozenset[str]:
    """Return the keys of a block's first document; none where it is no mapping."""
    value = next(iter(yaml.safe_load_all(block.text)), None)
    return frozenset(map(str, value)) if isinstance(value, dict) else frozenset()


def is_service_file(block: Block) -> bool:
    """Return whether a block is a service's file, whose key `targets` is another than a study's."""
    return bool(keys_of(block) & SERVICE_KEYS) and not keys_of(block) & {"workload", "services"}


def is_study_file(block: Block) -> bool:
    """Return whether a block is a study file or a part of one."""
    return bool(keys_of(block) & STUDY_KEYS) and not is_service_file(block) and not is_experiment(block)


def variables_of(block: Block) -> dict[str, str]:
    """Return the environment variables that a block names, each with some value."""
    return dict.fromkeys(re.findall(r"\$\{(\w+)", block.text), "1")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the properties files that study files on pages name."""
    for block in YAML_BLOCKS:
        for name in re.findall(r"[\w-]+\.properties", block.text):
            text = "linger.ms=20\n" if f"baseline: {name}" in block.text else "client.id=page\n"
            (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("block", YAML_BLOCKS, ids=str)
def test_a_block_of_yaml_is_yaml(block: Block) -> None:
    list(yaml.safe_load_all(block.text))


@pytest.mark.parametrize("block", [*filter(is_study_file, YAML_BLOCKS)], ids=str)
def test_a_study_file_on_a_page_is_one_that_the_program_reads(block: Block, files: Path) -> None:
    text = block.text
    if "workload" not in keys_of(block):
        text = f"workload: {{record_bytes: 1000}}\n{text}"
    parse_study(text, name="page", folder=files, origin=str(block), environ=variables_of(block))


@pytest.mark.parametrize("block", [*filter(is_experiment, YAML_BLOCKS)], ids=str)
def test_an_experiment_on_a_page_runs_to_its_end(block: Block, tmp_path: Path) -> None:
    spec = parse_experiment(block.text, name="page", folder=None, origin=str(block), environ={})
    measure_experiment(spec, block.text, tmp_path / "page", ToldOfExperiment(), simulated=SimulatedRunner(0.02))
    results = load_experiment(tmp_path / "page")
    assert results.finished
    assert all(len(row.by_round("mb_per_s")) == spec.rounds for row in results.rows)
    assert all(checked.outcome is not FindingOutcome.NOT_MEASURED for checked in results.findings)


def test_service_files_on_pages_are_such_as_the_program_reads(files: Path) -> None:
    path = files / "service.yaml"
    for block in filter(is_service_file, YAML_BLOCKS):
        path.write_text(block.text, encoding="utf-8")
        load_config(path, variables_of(block))
