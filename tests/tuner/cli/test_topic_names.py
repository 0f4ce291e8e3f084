"""The name of a topic is one that Kafka allows, wherever it is given."""

from pathlib import Path

import pytest

from tests.helpers.command import tuner
from tuner.study_file import StudyFileError, parse_study

WRONG = ["a/b", "my topic", ".", "..", "größe", "x" * 250, "a\n"]
RIGHT = ["orders", "a.b_C-9", "...", ".a", "x" * 249]
RULE = "a topic's name must consist of letters, digits, ., _ and -, have at most 249 characters"


def spec_with(key: str, name: str) -> object:
    text = f"workload: {{record_bytes: 100}}\ntarget: {{bootstrap: 'a:1', {key}: {name!r}}}\n"
    return parse_study(text, name="night", folder=None, origin="night.yaml", environ={}).targets[0]


@pytest.mark.parametrize("key", ["topic", "like"])
def test_a_study_file_names_the_key_of_a_wrong_topic(key: str) -> None:
    for name in WRONG[:-1]:
        with pytest.raises(StudyFileError) as caught:
            spec_with(key, name)
        assert f"night.yaml, line 2, target.{key}: {RULE}" in str(caught.value)
    for name in RIGHT:
        assert getattr(spec_with(key, name), key) == name


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "--topic"),
        ("bench", "--like"),
        ("doctor", "--topic"),
        ("run", "--topic"),
        ("plan", "--like"),
        ("consume",),
        ("inspect",),
        ("sample",),
    ],
)
def test_an_option_or_argument_with_a_wrong_topic_is_refused(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in WRONG:
        refused = tuner(*words, name, "--bootstrap", "127.0.0.1:9")
        assert refused.code == 2
        assert f"{words[-1] if len(words) > 1 else 'TOPIC'}: {RULE}" in refused.complaint, refused.err
        assert not list(tmp_path.iterdir())
