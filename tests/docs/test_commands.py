"""Commands that the documents show exist, and those that need no cluster do what the page says: they end well.

Every command in a block of code is read as the program reads it. Those in blocks marked `console` are run as well, in
the order of their page, where they need nothing but a study. A block marked `console not-run` is read only.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import (
    DOCUMENTS,
    NOT_RUN,
    Block,
    Line,
    blocks,
    calls,
    commands_in,
    is_experiment,
    lines_of,
    spans,
)
from tests.docs.program import examples, options_of, read
from tests.helpers.repository import KEPT_STUDIES, ROOT
from tuner.study_file import STARTER_TEXT

NEEDS_NO_CLUSTER = (
    "compare",
    "explain",
    "export",
    "front",
    "grid",
    "init",
    "lint",
    "plan",
    "recommend",
    "report",
    "schema",
    "status",
    "studies",
    "translate",
    "trials",
)
ELSEWHERE = frozenset({"--server", "--storage", "--tracking-uri", "--watch"})
SIMULATED_STUDY = """\
workload: {record_bytes: [100, 1000], saturate: {warmup: 0.5, measured: 1}, paced: {warmup: 0.5, measured: 1}}
search: {trials: 12, burn_in_max: 1}
confirm: {rounds: 3, max_rounds: 3, undo_rounds: 1}
tracking: {enabled: false}
executor: {kind: simulated}
"""
PRODUCER_PROPERTIES = "linger.ms=20\ncompression.type=lz4\n"
SERVICE = "http://127.0.0.1:8080"
SHOWN = [line for document in DOCUMENTS for line in lines_of(document) if [*calls(line.text)]]


@pytest.mark.parametrize("line", SHOWN, ids=str)
def test_a_command_in_a_block_exists_in_the_program(line: Line) -> None:
    for words in calls(line.text):
        read(words, SERVICE if line.to_service else None)


@pytest.mark.parametrize("example", [*examples()])
def test_an_example_in_the_help_is_a_command_of_the_program(example: str) -> None:
    # Text far to the right of a command explains the command.
    for words in calls(re.split(r" {2,}", example)[0]):
        read(words)


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_commands_and_options_that_sentences_name_exist(document: Path) -> None:
    for span in spans(document):
        for words in calls(span):
            named = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[A-Za-z][\w-]*(=.*)?", word)}
            if words and words[0] not in ("--server", "--storage"):
                assert named <= options_of(words), f"{document}: {span}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_make_targets_that_are_named_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    commands = [*spans(document), *(line.text for line in lines_of(document))]
    for command in commands:
        for words in calls(command, "make"):
            assert {word for word in words if re.fullmatch(r"[a-z]+", word)} <= targets, f"{document}: {command}"


def quick_lines(document: Path) -> list[Line]:
    """Return the lines of a page that are run."""
    return [
        line
        for line in lines_of(document)
        if line.block.language == "console" and NOT_RUN not in line.block.words and is_quick(line)
    ]


def is_quick(line: Line) -> bool:
    """Return whether a line of a shell calls nothing but commands that need neither a cluster nor another server."""
    return not line.to_service and all(
        command[0] == "tuner" and needs_no_cluster(command[1:]) and ELSEWHERE.isdisjoint(command)
        for command in commands_in(line.text)
    )


def needs_no_cluster(words: list[str]) -> bool:
    """Return whether the words after `tuner` name a command that needs no cluster."""
    return words[0] in NEEDS_NO_CLUSTER or words[:2] in (["experiment", "list"], ["experiment", "show"])


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The studies that pages speak of: one on the simulated target, one that an earlier release ran."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "overnight.yaml").write_text(SIMULATED_STUDY)
    ran = run("tuner run overnight.yaml --quiet", folder, folder / "studies")
    assert ran.returncode == 0, ran.stderr
    kept = KEPT_STUDIES / "quickstart-35028fe"
    shutil.copytree(kept, folder / "studies" / "quickstart")
    return folder / "studies"


_PAGES = list(filter(quick_lines, DOCUMENTS))


@pytest.mark.campaign
@pytest.mark.parametrize("document", _PAGES, ids=str)
def test_commands_of_a_page_that_need_no_cluster_end_well(document: Path, studies: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for name in ("producer.properties", "client.properties"):
        (tmp_path / name).write_text(PRODUCER_PROPERTIES if name.startswith("producer") else "client.id=page\n")
    # Reports and exports are written among the studies.
    own = shutil.copytree(studies, tmp_path / "studies")
    for line in quick_lines(document):
        for words in calls(line.text):
            make_what_is_read(words, line.block, tmp_path)
        ran = run(line.text, tmp_path, own)
        assert ran.returncode == 0, f"{line}\n{ran.stdout}\n{ran.stderr}"


def make_what_is_read(words: list[str], block: Block, folder: Path) -> None:
    """Write what a command reads and the page does not make.

    A study file is the last one that the page shows before, or what `tuner init` writes. An experiment file is the last
    one that the page shows before. A study of another name is a copy of the one called `overnight`.
    """
    studies = folder / "studies"
    for name in read(words):
        if "/" not in name and not (studies / name).exists():
            shutil.copytree(studies / "overnight", studies / name)
    is_such_a_file = is_experiment if words[0] == "experiment" else is_whole_study
    shown = [
        each.text
        for each in blocks()
        if each.document == block.document and each.line < block.line and is_such_a_file(each)
    ]
    for word in words[1:] if words[0] != "init" else ():
        if word.endswith(".yaml") and not (folder / word).exists():
            (folder / word).write_text(shown[-1] if shown else STARTER_TEXT, encoding="utf-8")


def is_whole_study(block: Block) -> bool:
    """Return whether a block is a study file from beginning to end."""
    value = yaml.safe_load(block.text) if block.language == "yaml" else None
    return isinstance(value, dict) and "workload" in value


def run(line: str, folder: Path, studies: Path) -> "subprocess.CompletedProcess[str]":
    """Run a line in a shell that finds this program as `tuner`."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    program = programs / "tuner"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tuner.cli "$@"\n')
    program.chmod(0o755)
    environ: Mapping[str, str] = {
        **os.environ,
        "KAFKA_TUNER_STUDIES": str(studies),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    command = ["bash", "-euo", "pipefail", "-c", line]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False)
