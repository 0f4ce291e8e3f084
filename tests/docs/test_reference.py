"""The reference that is made from the program is complete, and each of its entries has an anchor to link to."""

import re

from sphinx.pycode import ModuleAnalyzer

from docs.extensions.reference import command_line, knobs, python, rest, study_file
from objectives.metrics import OUTCOME_METRICS
from search_spaces import Role, java, librdkafka
from tests.helpers.repository import ROOT
from tuner.cli.command_table import COMMANDS, SERVICE_COMMANDS
from tuner.model.errors import ExitCode
from tuner.service.http.application import openapi_document
from tuner.study_file import json_schema


def anchors(text: str) -> set[str]:
    return set(re.findall(r"\]\{#([\w-]+)\}", text))


def anchor(name: str) -> str:
    return re.sub(r"[._]", "-", name)


def test_every_key_of_a_study_file_is_described() -> None:
    schema, text = json_schema(), study_file.study_file()
    assert set(schema["properties"]) <= set(re.findall(r"^## (\w+)$", text, re.MULTILINE))
    keys = {
        f"{name.removesuffix('Section').lower()}-{anchor(key)}"
        for name, section in schema["$defs"].items()
        if name not in ("PhaseSection", "PacedSection")
        for key, found in section["properties"].items()
        if "$ref" not in found
    }
    assert keys <= anchors(text)
    assert {f"workload-paced-{anchor(key)}" for key in schema["$defs"]["PacedSection"]["properties"]} <= anchors(text)


def test_every_command_exit_code_and_metric_is_described() -> None:
    headings = re.findall(r"^##+ (.+)$", command_line.commands(), re.MULTILINE)
    assert {f"tuner {name}" for name in COMMANDS} <= set(headings)
    assert {f"tuner --server URL {name}" for name in SERVICE_COMMANDS} <= set(headings)
    page = (ROOT / "docs/reference/command-line.md").read_text()
    meanings = ModuleAnalyzer.for_module(ExitCode.__module__).find_attr_docs()
    expected = [(str(int(code)), " ".join(meanings["ExitCode", code.name]).strip()) for code in ExitCode]
    assert re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE) == expected
    assert anchors(study_file.metrics()) == {f"metric-{anchor(name)}" for name in OUTCOME_METRICS}


def test_every_resource_of_the_service_is_described_once() -> None:
    headings = re.findall(r"^### (.+)$", rest.resources(), re.MULTILINE)
    paths = openapi_document()["paths"].items()
    assert sorted(headings) == sorted(f"{method.upper()} {path}" for path, methods in paths for method in methods)


def test_every_knob_and_every_property_is_described() -> None:
    assert anchors(knobs.searched()) == {f"knob-{anchor(knob.name)}" for knob in librdkafka().knobs}
    named = {anchor(found.name) for found in librdkafka().catalogue if found.role is Role.PRODUCER}
    assert anchors(knobs.properties()) == named
    assert anchors(knobs.searched_in_java()) == {f"java-knob-{anchor(knob.name)}" for knob in java().knobs}
    assert anchors(knobs.properties_in_java()) == {f"java-{anchor(name)}" for name in java().producer_names}


def test_the_python_interface_is_described_with_its_client_and_errors() -> None:
    assert ":: tuner.run_study" in python.facade()
    assert ":: tuner.client.Client\n" in python.client()
    assert ":: tuner.model.errors.NoFeasibleConfig\n" in python.errors()
