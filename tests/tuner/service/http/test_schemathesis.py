"""Schemathesis sends valid and invalid requests: every response is one that the OpenAPI document describes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.helpers.campaign_form import LONG_CAMPAIGN
from tests.helpers.command import tuner
from tests.helpers.serving import Serving, serving
from tests.helpers.stored_studies import write_study
from tests.helpers.waiting import eventually

pytestmark = pytest.mark.campaign

EXAMPLES: Final = 200 if LONG_CAMPAIGN else 4
PHASES: Final = "examples,coverage,fuzzing,stateful" if LONG_CAMPAIGN else "examples,fuzzing"
CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "use_after_free",
)
"""All checks except those that fail because a study file has rules that JSON Schema can't express."""
SETTINGS: Final = """\
[parameters]
"path.study" = "overnight"
"""
_TIMEOUT_S: Final = 900


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Serving, str]]:
    root = tmp_path / "studies"
    root.mkdir()
    write_study(root / "overnight")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(root))
        token = tuner("serve", "token", "add", "fuzz", "--role", "submit").out.strip()
    with serving(root, "--no-access-log") as found:
        eventually(lambda: found.ask("GET", "/readyz").status == 200)
        yield found, token


def test_every_response_is_documented_and_none_is_a_5xx(served: tuple[Serving, str], tmp_path: Path) -> None:
    service, token = served
    bearer = {"Authorization": f"Bearer {token}"}
    settings, document = tmp_path / "schemathesis.toml", tmp_path / "openapi.json"
    settings.write_text(SETTINGS)
    document.write_bytes(service.ask("GET", "/openapi.json", headers=bearer).body)
    words = ["--config-file", str(settings), "--no-color", "run", str(document), "--url", service.url]
    # A stream of events is left out, because it has no end that Schemathesis could wait for, and so is the removal of
    # the study, which the other requests ask for.
    words += [
        "--exclude-path-regex",
        "/(events|remove)$",
        "--max-examples",
        str(EXAMPLES),
        "--seed",
        "1",
        "--phases",
        PHASES,
    ]
    words += ["--checks", ",".join(CHECKS), "--request-timeout", "60", "--header", f"Authorization: Bearer {token}"]
    ran = subprocess.run(
        [str(Path(sys.executable).parent / "st"), *words],
        cwd=tmp_path,  # Schemathesis leaves a folder behind
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
        env={**os.environ, "SCHEMATHESIS_HOOKS": ""},
    )
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr
    assert "25 selected" in ran.stdout
    assert service.ask("GET", "/readyz").status == 200
    assert "Traceback" not in service.said()
