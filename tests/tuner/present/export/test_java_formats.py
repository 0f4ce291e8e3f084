"""The formats of a recommendation for users of the Java client; `test_java_programs.py` has programs read them."""

import json
from dataclasses import replace
from typing import Final

import pytest
import yaml

from search_spaces.client import FORMATS, java, librdkafka
from search_spaces.client_facts.formats import FileLayout, PropertiesFormat
from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import FormatNotOffered
from search_spaces.files.properties_file import parse_properties
from search_spaces.java_client.formats import FORMATS as JAVA_FORMATS
from tests.helpers.stored_studies import study
from tests.tuner.present.export.java_recommendation import entries_of, of_java
from tuner.model.goals import Goal
from tuner.present.export import SUFFIXES, Format, export, export_all, formats, is_translated, offered
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Recommendation

TUNED: Final = {"acks": "all", "batch.size": "262144", "compression.lz4.level": "3", "compression.type": "lz4"}
WEAK: Final = {
    "acks": "1",
    "enable.idempotence": "false",
    "linger.ms": "0",
    "max.in.flight.requests.per.connection": "10",
}
PROGRAMS_OWN: Final = {
    "quarkus": {"acks": "1"},
    "connect": {"acks": "all", "enable.idempotence": "false", "max.in.flight.requests.per.connection": "1"},
    "streams": {"linger.ms": "100"},
}
"""What programs set if the user sets nothing; the sources are in `search_spaces.java_client.formats`."""

for_each_format = pytest.mark.parametrize("form", JAVA_FORMATS, ids=[form.name for form in JAVA_FORMATS])


@pytest.fixture(scope="module")
def of_librdkafka(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    return recommend(study(tmp_path_factory.mktemp("confirmed")), "1000", Goal.BALANCED)


def properties_of(form: PropertiesFormat, text: str) -> dict[str, str]:
    """Return the properties in a form: its keys without what stands around the names."""
    before, after = form.key.split("{}")
    entries = entries_of(text)
    assert all(key.startswith(before) and key.endswith(after) for key in entries)
    return {key.removeprefix(before).removesuffix(after): value for key, value in entries.items()}


def test_each_format_of_a_client_has_a_suffix_of_its_own() -> None:
    names = [form.name for forms in FORMATS.values() for form in forms]
    assert set(Format) - {"table", "properties", "json", "env"} == set(names)
    assert len(names) == len(set(names))
    assert len(set(SUFFIXES.values())) == len(SUFFIXES) == len(Format)
    assert SUFFIXES[Format.STRIMZI_CONNECTOR] == ".strimzi-connector.yaml"


@for_each_format
@pytest.mark.parametrize("values", [TUNED, WEAK, {}], ids=["tuned", "weak", "defaults"])
@pytest.mark.parametrize("version", ["2.8.2", "4.3.1"])
def test_a_format_holds_the_config_and_what_its_program_would_change(
    of_librdkafka: Recommendation, form: PropertiesFormat, values: dict[str, str], version: str
) -> None:
    known = {name: value for name, value in values.items() if name in java(version).catalogue}
    found = of_java(of_librdkafka, known, version)
    properties = properties_of(form, export(found, Format(form.name)))
    assert list(properties) == sorted(properties)
    assert known.items() <= properties.items()
    assert set(properties) == set(known) | set(form.own_defaults)
    alone = found.config.client
    read = ProducerConfig.parse({**PROGRAMS_OWN.get(form.name.replace("strimzi-", ""), {}), **properties}, alone)
    assert {name: read.effective(name) for name in alone.producer_names} == {
        name: found.config.effective(name) for name in alone.producer_names
    }
    assert Guarantee.of(read) == Guarantee.of(found.config)


@for_each_format
def test_a_format_has_the_guarantee_that_its_comment_names(
    of_librdkafka: Recommendation, form: PropertiesFormat
) -> None:
    weak = {"acks": "1", "enable.idempotence": "false", "linger.ms": "20"}
    found = of_java(of_librdkafka, {"linger.ms": "1"})
    found = replace(found, baseline=replace(found.baseline, values=weak))
    properties = properties_of(form, export(found, Format(form.name)))
    read = ProducerConfig.parse({**weak, **properties}, found.config.client)
    assert str(Guarantee.of(read)) == found.trial.guarantee == "acks=all, ordered, no duplicates"


@for_each_format
def test_a_format_says_where_it_comes_from_and_that_it_was_measured(
    of_librdkafka: Recommendation, form: PropertiesFormat
) -> None:
    found = of_java(of_librdkafka, TUNED, "3.9.1")
    text = export(found, Format(form.name))
    assert text.startswith("# kafka-tuner: study overnight, trial 7, for java 3.9.1\n")
    assert f"\n# guarantee: {found.trial.guarantee}\n" in text
    assert "\n# measured: " in text
    assert "not measured" not in text
    assert (f"\n# to use it: {form.usage}\n" in text) is bool(form.usage)


def test_a_kubernetes_format_is_a_patch_of_its_resource(of_librdkafka: Recommendation) -> None:
    text = export(of_java(of_librdkafka, {"linger.ms": "7", "acks": "all"}), Format.STRIMZI_CONNECTOR)
    assert text[text.index("kind:") :] == (
        "kind: KafkaConnector\n"
        "spec:\n"
        "  config:\n"
        '    "producer.override.acks": "all"\n'
        '    "producer.override.enable.idempotence": "true"\n'
        '    "producer.override.linger.ms": "7"\n'
        '    "producer.override.max.in.flight.requests.per.connection": "5"\n'
    )


def test_a_line_separator_in_a_warning_does_not_end_the_comment(of_librdkafka: Recommendation) -> None:
    nasty = replace(of_java(of_librdkafka, TUNED), warnings=("a\u2028acks: b", "c\x85linger.ms: d"))
    for form in JAVA_FORMATS:
        assert properties_of(form, export(nasty, Format(form.name))).items() >= TUNED.items()


def test_a_study_offers_its_client_s_formats_and_the_translations() -> None:
    for_all = {Format.TABLE, Format.PROPERTIES, Format.JSON, Format.ENV}
    assert set(offered(librdkafka())) == for_all | {Format.LIBRDKAFKA, Format.JAVA, Format.SPRING}
    assert set(offered(java())) == set(Format)
    assert [form for form in offered(java()) if is_translated(form, java())] == [Format.LIBRDKAFKA]


def test_a_format_without_a_translation_is_refused(of_librdkafka: Recommendation) -> None:
    for form in set(Format) - set(offered(librdkafka())):
        with pytest.raises(FormatNotOffered, match=rf"the format {form} .* choose one of table, .* client: java$"):
            export(of_librdkafka, form)


@for_each_format
def test_several_record_sizes_follow_each_other(of_librdkafka: Recommendation, form: PropertiesFormat) -> None:
    found = of_java(of_librdkafka, TUNED)
    text = export_all([found, replace(found, record_bytes="100")], Format(form.name))
    assert text.count("# records: 1") == 2
    assert text.count("\n---\n") == (form.layout is FileLayout.YAML)


@pytest.mark.parametrize("layout", FileLayout)
def test_another_librdkafka_format_has_its_properties_in_its_layout(
    monkeypatch: pytest.MonkeyPatch, of_librdkafka: Recommendation, layout: FileLayout
) -> None:
    plain = json.loads(export(of_librdkafka, Format.LIBRDKAFKA))
    form = PropertiesFormat("librdkafka", layout, key="producer.{}")
    monkeypatch.setattr(formats, "_FORMATS", {**formats._FORMATS, Format.LIBRDKAFKA: form})
    text = export(of_librdkafka, Format.LIBRDKAFKA)
    found = parse_properties(text) if layout is FileLayout.PROPERTIES else yaml.safe_load(text)  # YAML includes JSON.
    assert found == {f"producer.{name}": value for name, value in plain.items()}
