"""Reading any text as a study file gives a study or a StudyFileError, and no other error."""

from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tuner.study_file.corpus import EXAMPLES, GOOD, parse
from tuner.model.spec import StudySpec
from tuner.study_file import STARTER_TEXT, StudyFileError
from tuner.study_file.sections import StudyFile

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        ["all", "off", "100:70,1000:30", "${A}", "${", "1e999", "9" * 5000, "10GB", "5m", "07:00", "\x00", "~x"]
    ),
)


_KEYS = ["record_bytes", "saturate", "warmup", "properties", "bootstrap", "name", "linger.ms", "acks", "low", "high"]
_KEYS += ["choices", "trials", "goals", "sasl.password", "client.id", "compression.type", "steps", "brokers"]
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5)
    ),
    max_leaves=12,
)
_STUDIES = st.dictionaries(st.sampled_from(list(StudyFile.model_fields)), _VALUES, max_size=6)
_SAMPLES = [path.read_text() for path in (*GOOD, *EXAMPLES)] + [STARTER_TEXT]


def _answers(text: str) -> None:
    try:
        assert isinstance(parse(text, A="hunter2", B=""), StudySpec)
    except StudyFileError as error:
        told = str(error)
    else:
        told = ""
    assert "hunter2" not in told


@given(st.text())
@example("\ufeffworkload: {record_bytes: 1}")
@example("%YAML 9.9\n---\na")
@example('"\\UFFFFFFFF"')
@example("? \n: ")
@example("[" * 5000)
@example("{a: " * 5000)
@example("- " * 5000)
@example("workload: {record_bytes: '" + "9" * 5000 + ":1,1:1'}")
@example("workload: {record_bytes: " + "9" * 5000 + "}")
@example('workload: {record_bytes: 1}\nbaseline: {client.id: "\\uD800"}')
@example('workload: {record_bytes: 1}\nstudy: "\\uD800"')
@example('workload: {record_bytes: 1}\nbaseline: "\\0"')
@example('workload: {record_bytes: 1}\ntracking: {uri: "\\0"}')
@example('workload: {record_bytes: 1}\nbaseline: {acks: "\\0"}')
@example('"\\uD800": 1')
@example("${A}")
def test_any_text_is_read_or_refused(text: str) -> None:
    _answers(text)


@given(st.text(alphabet="abc:-?[]{}!&*#|>'\"%@`,~ \n\t$019.", max_size=80))
def test_any_text_of_yaml_signs_is_read_or_refused(text: str) -> None:
    _answers(text)


@given(_STUDIES)
def test_any_sections_are_read_or_refused(data: dict[str, Any]) -> None:
    _answers(yaml.safe_dump(data, allow_unicode=True))


@given(
    st.fixed_dictionaries(
        {"workload": st.just({"record_bytes": [100]})}, optional={"space": _VALUES, "search": _VALUES}
    )
)
@example({"workload": {"record_bytes": [100]}, "space": {"acks": "9" * 5000}})
def test_any_values_beside_a_good_workload_are_read_or_refused(data: dict[str, Any]) -> None:
    _answers(yaml.safe_dump(data, allow_unicode=True))


@given(st.sampled_from(_SAMPLES), st.data())
def test_a_file_with_a_piece_changed_is_read_or_refused(text: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 20)))
    _answers(text[:begin] + data.draw(st.text(max_size=5)) + text[end:])
