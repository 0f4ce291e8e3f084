"""Wrong input gives one clear message and the right exit code, and nothing is started."""

import os
import shlex
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from runners.clusters.cluster import RunningCluster
from runners.errors import BrokerLost
from search_spaces.client import librdkafka
from search_spaces.errors import RuleBroken
from tests.conftest import TopicMaker
from tests.docs.program import read
from tests.helpers.command import arguments, tuner
from tests.helpers.invented_studies import baseline, study
from tests.helpers.repository import ROOT
from tests.helpers.stored_studies import write_study
from tuner.cli.app import start
from tuner.cli.options.common_options import producer_config
from tuner.cli.running.own_study import new_study
from tuner.storage.locations import ROOT_VARIABLE, storage_at

WRONG = [
    (["-X", "buffer.memory=1"], "queue.buffering.max.kbytes"),
    (["-X", "linger.msec=1"], "linger.ms"),
    (["-X", "foo=1"], "error: -X: librdkafka has no property 'foo'"),
    (["-X", "acks=2"], "acks"),
    (["-X", "compression.type=zip"], "zip"),
    (["-X", "compression.type=gzip", "-X", "compression.level=12"], "compression.level"),
    (["-X", "enable.idempotence=true", "-X", "acks=1"], "idempoten"),
    (["-X", "sasl.password=hunter2"], "--command-config"),
    (["-X", "linger.ms"], "-X, pair 1: a pair must be written as key=value, such as linger.ms=5, not 'linger.ms'"),
    (["--record-bytes", "0"], "record size"),
    (["--record-bytes", "10:1,10:2"], "names 10 twice"),
    (["--record-bytes", "2000000"], "message.max.bytes"),
    (["--seconds", "0"], "--seconds must be a number above 0 and at most 86,400 seconds, but got 0"),
    (["--peak", "0.5", "--rate", "100"], "--peak must be a number from 1 to 100, but got 0.5"),
    (
        ["--different-keys", "5"],
        "--key-bytes must be enough for --different-keys, but keys of 0 bytes can't be 5 different keys",
    ),
    (["--compressibility", "1"], "--compressibility"),
    (["--load", "paced"], "--rate"),
    (["--load", "saturate", "--rate", "5"], "--rate"),
    (["--rate", "-5"], "--rate must be a number above 0 and at most 100,000,000, but got -5"),
    (["--topic", "orders"], "--bootstrap"),
    (["--bootstrap", "127.0.0.1:9", "--topic", "a", "--like", "b"], "--like"),
    (
        ["--bootstrap", "127.0.0.1:9", "--topic", "a", "--partitions", "3"],
        "--topic can't be given with --partitions: the partitions and the replication are those of the topic that "
        "--topic names; leave --topic or --partitions out",
    ),
    (["--bootstrap", "127.0.0.1:9", "--like", "a", "--replication", "1"], "--like can't be given with --replication"),
    (
        ["--bootstrap", "127.0.0.1:9", "--consumers", "5"],
        "each consumer needs a partition of its own, but got 5 consumers and 3 partitions; raise --partitions, or",
    ),
    (["--partitions", "0"], "--partitions must be a whole number from 1 to 10,000, but got 0"),
    (["--max-bytes", "5 parsecs"], "size"),
    (["--bootstrap", "127.0.0.1:9", "--brokers", "1"], "--bootstrap names a running cluster; leave one of them out"),
    (["--container", "apache/kafka:4.1.0", "--brokers", "3"], "a container runs one broker"),
    (
        ["--container", ""],
        "'--container': it must name an image without blanks, such as apache/kafka:4.1.0, but got ''",
    ),
    (["--zone-delay", "2 moments"], "--zone-delay: a duration must read like"),
    (["--zone-delay", "1h"], "--zone-delay: a link's delay must be 0 to 1,000 ms, but got 3,600,000 ms"),
    (["--zone-bandwidth", "fast"], "--zone-bandwidth: a size must read like"),
    (["--zone-bandwidth", "0"], "bandwidth must be at least 0.01 MB/s, but got 0 MB/s"),
    (["--zone-delay", "2ms", "--bootstrap", "127.0.0.1:9"], "leave out --bootstrap"),
    (["--zone-bandwidth", "5MB", "--container", "apache/kafka:4.1.0"], "leave out --container"),
    (["--png", "latency.txt"], ".png"),
    (["--config", "does-not-exist.properties"], "does-not-exist.properties"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_wrong_input_is_refused_and_the_message_names_it(words: list[str], said: str) -> None:
    ended = tuner("bench", *words)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())
    assert "Traceback" not in ended.err
    assert ended.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("plan",),
        ("compare-clients",),
        ("verify", "mine.properties"),
    ],
    ids=lambda words: words[0],
)
def test_options_for_a_cluster_are_refused_beside_a_simulated_one(words: tuple[str, ...]) -> None:
    ended = tuner(*words, "--executor", "simulated", "--bootstrap", "127.0.0.1:9")
    assert ended.code == 2
    assert "--executor simulated uses no cluster, so it can't be given with --bootstrap" in ended.complaint


NAMED = [
    ("--client", "jave", "the client must be librdkafka or java", ("bench", "calibrate", "consume", "run", "plan")),
    ("--client", "java:9.9.9", "a version of the Java client must be from", ("bench", "calibrate", "consume", "run")),
    (
        "--record-bytes",
        "-1",
        "a record size must be 1 to 67,108,864 bytes, but got -1",
        ("bench", "calibrate", "consume", "predict a", "recommend a", "explain a", "trials a", "front a", "grid a"),
    ),
    ("--record-bytes", "many", "record sizes must have the form", ("calibrate", "cost a b", "export a --to b")),
    ("--max-bytes", "5 parsecs", "a size must read like", ("bench", "sample a", "inspect a", "compare-tools")),
    ("--record-bytes", "99999999999", "must be less than or equal to", ("compare-tools", "lint linger.properties")),
    ("--rate", "nan", "must be less than or equal to", ("lint linger.properties --record-bytes 100",)),
    ("--client", "jave", "the client must be librdkafka or java", ("lint linger.properties",)),
    (
        "--client-version",
        "x",
        "a version of the Java client must",
        (
            "compare-clients",
            "translate linger.properties --to java",
            "lint linger.properties --client java",
        ),
    ),
    ("--fill", "5 parsecs", "a size must read like", ("consume",)),
    ("--mb-per-s", "inf", "must be less than or equal to 1000000000, but got inf", ("plan",)),
]


@pytest.mark.parametrize(
    ("command", "option", "value", "rule"),
    [(command, option, value, rule) for option, value, rule, commands in NAMED for command in commands],
)
@pytest.mark.usefixtures("studies")
def test_a_wrong_value_is_refused_with_the_name_of_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str, value: str, rule: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("linger.properties").write_text("linger.ms=5\n")
    where = ["--bootstrap", "127.0.0.1:9"] if command in ("sample a", "inspect a") else []
    ended = tuner(*command.split(), *where, option, value)
    assert ended.code == 2
    assert f"{option}: {rule}" in ended.complaint.replace("'", ""), ended.err
    assert [each.name for each in tmp_path.iterdir()] == ["linger.properties"]


def test_a_connection_file_whose_variable_is_not_set_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("sasl.password=${PASSWORD_THAT_IS_NOT_SET}\n")
    for words in (("bench",), ("cleanup",), ("inspect", "orders"), ("run",), ("plan",)):
        ended = tuner(*words, "--bootstrap", "127.0.0.1:9", "--command-config", str(path))
        assert ended.code == 2
        said = "sasl.password: the environment variable PASSWORD_THAT_IS_NOT_SET is not set; export it"
        assert f"client.properties, line 1: {said}" in ended.complaint, ended.err


def test_a_command_of_a_service_says_how_to_name_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_TUNER_SERVER", raising=False)
    ended = tuner("pause", "overnight")
    assert ended.code == 2
    assert "pause works on the studies of a service only: give --server, or set KAFKA_TUNER_SERVER" in ended.err


@pytest.mark.parametrize(
    ("environment", "words", "said"),
    [
        ({}, ("--server", "foo", "studies"), "must read http://HOST:PORT or https://HOST, without user, query"),
        ({}, ("--server", "foo", "studies"), "; --server or KAFKA_TUNER_SERVER gives the address, "),
        ({"KAFKA_TUNER_SERVER": "foo"}, ("studies",), "; --server or KAFKA_TUNER_SERVER gives the address, "),
        ({"KAFKA_TUNER_TOKEN_FILE": "/nope"}, ("--server", "http://127.0.0.1:9", "studies"),
         "must be readable text, but /nope is not: No such file or directory"),
        ({}, ("--storage", "foo", "studies"), "it has no scheme; --storage or KAFKA_TUNER_STORAGE gives the address"),
        ({}, ("--storage", "", "studies"), "--storage must be the URL of a database, but got ''"),
        ({}, ("plan", "--name", ""), "--name: a name must consist of letters, digits, -, _ and ., begin with a letter"),
        ({}, ("plan", "--record-bytes", ""), "--record-bytes: a record size must read like 1000 or 64KiB"),
        ({"KAFKA_TUNER_STORAGE": "foo"}, ("studies",), "; --storage or KAFKA_TUNER_STORAGE gives the address"),
        ({}, ("plan", "--hours", "nan"), "--hours: must be a number above 0 and at most 10,000, but got 'nan'"),
        ({}, ("plan", "--until", "2020-01-01", "07:00"), "put a date and its time in quotes, such as --until '"),
        ({}, ("plan", "--hours", "1d"), "Invalid value for '--hours': must be a valid number, but got 1d"),
        ({}, ("run", "--rate", "1e400"), "--rate: must be a number above 0 and at most 100,000,000, but got 'inf'"),
        ({}, ("--server", "http://127.0.0.1:9", "compare", "a", "a"), "A and B must be two studies"),
        ({}, ("consume", "-X", "foo=1"), "error: -X: librdkafka has no property 'foo'"),
        ({}, ("consume", "-X", "acks=1"), "librdkafka's consumer ignores; leave it out (-X)"),
        ({}, ("consume", "--producer", "foo=1"), "error: --producer: librdkafka has no property 'foo'"),
        ({}, ("consume", "--producer", "foo"), "error: --producer, pair 1: a pair must be written as key=value"),
        ({}, ("compare-tools", "-X", "foo=1"), "error: -X: librdkafka has no property 'foo'"),
        ({}, ("recommend", "a", "--record-bytes", "1", "--tracking-uri", "foo://me:secret@bar"),
         "Invalid value for '--tracking-uri': MLflow's address must begin with http://, https:// or the scheme of a "
         "database (sqlite://, postgresql://, mysql://, mssql://), but got 'foo://me:***@bar'"),
        ({}, ("sync", "a", "--tracking-uri", "me:secret@bar"), "mssql://), but got '***@bar'"),
        ({}, ("ui", "--tracking-uri", ""), "mssql://), but got ''"),
        ({}, ("broker", "run", "--listen", "9092"), "Invalid value for --listen: an address is HOST:PORT, such as"),
        ({}, ("broker", "run", "--advertise", "0.0.0.0:9"), "Invalid value for --advertise: clients connect to the"),
        ({}, ("init", "-"), "the name of a file must not begin with -, but got -"),
        ({}, ("init", "--", "-x.yaml"), "the name of a file must not begin with -, but got -x.yaml"),
        ({}, ("serve", "token", "add", "a b"), "a token's name has letters, digits and - _ . @"),
        ({}, ("serve", "token", "remove", "me"), "only an existing token can be removed, but got 'me'"),
        ({}, ("experiment", "show", "thesis-default", "--yaml", "--json"), "a result has one format"),
        ({}, ("experiment", "report", "papers", "--csv", "--format", "json"), "--csv and --format were given"),
        ({}, ("experiment", "report", "papers", "--json", "--format", "csv"), "--json and --format were given"),
    ],
)  # fmt: skip
def test_an_impossible_action_is_refused_in_the_words_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str], words: tuple[str, ...], said: str
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ended = tuner(*words)
    assert ended.code == 2
    assert said in ended.complaint
    assert "Errno" not in ended.err
    assert not [*tmp_path.glob("*.yaml"), *tmp_path.glob("-")]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("predict LONG", "there is no study 'LONG'...: a name must consist of"),
        ("status LONG", "and have at most 100 characters, but this one is longer"),
        ("rm LONG --yes", "and have at most 100 characters, but this one is longer"),
        ("confirm LONG.yaml", "and have at most 100 characters, but this one is longer"),
        ("experiment report LONG", "and have at most 100 characters, but this one is longer"),
        ("run LONG", "the name of a file must have at most 255 bytes, but 'LONG'..."),
        ("plan LONG.yaml", "the name of a file must have at most 255 bytes, but 'LONG'..."),
        ("experiment show LONG", "the name of a file must have at most 255 bytes, but 'LONG'..."),
        ("status LONG/x", "the name of a file must have at most 255 bytes, but 'LONG'..."),
        ("init LONG", "the name of a file must have at most 255 bytes, but 'LONG'..."),
    ],
)
def test_a_name_that_is_too_long_is_refused_with_the_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, rule: str
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "studies"))
    monkeypatch.chdir(tmp_path)
    ended = tuner(*words.replace("LONG", 300 * "A").split())
    assert ended.code == 2
    assert rule.replace("LONG", 40 * "A") in ended.complaint
    assert 41 * "A" not in ended.err
    assert not [*tmp_path.iterdir()]


def test_a_bad_line_of_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("acks=all\n\nlinger.msec=5\n")
    ended = tuner("bench", "--config", str(file))
    assert ended.code == 2
    assert "linger.ms" in ended.err


def test_a_property_of_the_command_line_wins_over_the_file_under_any_of_its_names(tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("linger.ms=5\ncompression.type=none\n")
    client = librdkafka()
    found = producer_config(file, ["queue.buffering.max.ms=20"], client)
    assert found.values == {"linger.ms": "20", "compression.type": "none"}
    with pytest.raises(RuleBroken, match=r"^producer\.properties with -X: "):
        producer_config(file, ["compression.level=3"], client)


def test_a_secret_is_not_echoed(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("sasl.password=hunter2\nsecurity.protocol=nonsense\n")
    ended = tuner("bench", "--bootstrap", "127.0.0.1:9", "--command-config", str(file))
    assert ended.code == 2
    assert "security.protocol" in ended.err
    assert "hunter2" not in ended.err


def test_an_address_where_no_broker_listens_gives_exit_code_3() -> None:
    ended = tuner("bench", "--bootstrap", "127.0.0.1:9")
    assert ended.code == 3
    assert "127.0.0.1:9" in ended.err
    assert "Traceback" not in ended.err


def test_a_wrong_address_leaves_no_study_behind(tmp_path: Path, studies: Path) -> None:
    words = ("run", "--quick", "--no-mlflow", "--record-bytes", "100", "--bootstrap")
    ended = tuner(*words, "127.0.0.1:9")
    assert ended.code == 3
    assert "is not kept, because its cluster could not be used" in ended.err
    assert not studies.exists()
    (folder := studies / "mine").mkdir(parents=True)  # a folder that was there before
    (tmp_path / "mine.yaml").write_text(
        "study: mine\nworkload: {record_bytes: 100}\ntarget: {bootstrap: '127.0.0.1:9'}\nsearch: {trials: 4}\n"
        "executor: {kind: local}\n"
    )
    ended = tuner("run", str(tmp_path / "mine.yaml"), "--no-mlflow")
    assert ended.code == 3, ended.err
    assert folder.exists()


def test_a_broker_that_can_not_be_started_leaves_no_study_behind(
    tmp_path: Path, studies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine.sock")
    ended = tuner("run", "--quick", "--no-mlflow", "--record-bytes", "100", "--container", "apache/kafka:4.1.0")
    assert ended.code == 1
    assert "needs a Docker engine" in ended.complaint
    assert "is not kept, because its cluster could not be used" in ended.err
    assert not studies.exists()


@pytest.mark.broker
@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("--like", "no-such-topic", "has no topic 'no-such-topic'"),
        ("--replication", "3", "workload.replication (`--replication`) is 3 and the cluster"),
    ],
)
def test_a_topic_that_the_cluster_cannot_have_leaves_no_study_behind(
    studies: Path, broker: RunningCluster, option: str, value: str, error: str
) -> None:
    words = ("--quick", "--no-mlflow", "--executor", "local", "--record-bytes", "100")
    ended = tuner("run", *words, "--bootstrap", broker.bootstrap, option, value)
    assert ended.code == 2
    assert error in ended.complaint
    assert "is not kept, because its cluster could not be used" in ended.err
    assert not studies.exists()


@pytest.mark.broker
@pytest.mark.parametrize("option", ["--topic", "--like"])
def test_a_topic_that_takes_no_such_record_leaves_no_study_behind(
    studies: Path, broker: RunningCluster, new_topic: TopicMaker, option: str
) -> None:
    topic = new_topic(configs={"max.message.bytes": "10000"}).name
    words = ("--quick", "--no-mlflow", "--executor", "local", "--record-bytes", "20000")
    ended = tuner("run", *words, "--bootstrap", broker.bootstrap, option, topic)
    assert ended.code == 2
    assert "max.message.bytes=10000" in ended.complaint
    assert "is not kept, because nothing that counts was measured" in ended.err
    assert not studies.exists()


@pytest.mark.parametrize("kept", [False, True])
def test_an_error_of_the_clean_up_after_ctrl_c_is_a_warning(
    studies: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kept: bool
) -> None:
    def lost() -> None:
        raise BrokerLost("the cluster must answer the request to delete topic tuner-1-0")

    def command() -> None:
        with ExitStack() as stack:
            if kept:  # as `tuner verify` and `tuner compare-clients` do
                name = stack.enter_context(new_study("verify-mine", storage_at(), silent=False))
                study(studies / name, baseline()).close()
            inner = ExitStack()
            inner.callback(lost)
            stack.callback(inner.close)  # it removes the interruption from the context of its error
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("tuner.cli.interruption._INTERRUPTIONS", [])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr("tuner.cli.commands.schema.schema", command)
    monkeypatch.setattr("sys.argv", ["tuner", "schema"])
    try:
        with pytest.raises(SystemExit) as ended:
            start()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert ended.value.code == 130
    said = capsys.readouterr().err
    assert "warning: the cluster must answer the request to delete topic tuner-1-0" in said
    assert "is left behind" not in said
    kept_as = "interrupted: what was measured is kept as verify-mine-1; the same command starts over and deletes what"
    assert (kept_as if kept else "run the same command again, which also deletes what is left") in said


@pytest.mark.parametrize(
    ("words", "cleans_up"),
    [
        ("experiment run thesis-default", True),
        ("experiment list", False),
        ("experiment show thesis-default", False),
        ("broker start", True),
        ("broker status", False),
        ("bench --repeat 2", True),
        ("front overnight", False),
    ],
)
def test_only_a_command_that_has_something_to_clean_up_says_so_on_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, words: str, cleans_up: bool
) -> None:
    said: list[bytes] = []
    monkeypatch.setattr("tuner.cli.interruption._CLEAN_UP", said)
    read(words.split())
    assert bool(said) is cleans_up


def test_the_version_is_printed() -> None:
    assert tuner("--version").out.startswith("kafka-tuner ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["recommend", "overnight", "--allow-loss", "2"], "'--allow-loss': must be less than or equal to 1, but got 2"),
        (["verify", "p.properties", "--rounds", "0"], "'--rounds': must be greater than or equal to 2, but got 0"),
        (["recommend", "overnight", "--goal", "fast"], "'--goal': 'fast' is not one of 'throughput'"),
    ],
)
def test_a_wrong_value_of_an_option_is_shown_with_its_rule(words: list[str], said: str) -> None:
    ended = tuner(*words)
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--replication", "3"), "--replication must be at most the number of brokers, but got 3 with 1 broker"),
        (("--client", "java", "--generator", "python"), "--generator python measures librdkafka only"),
        (("--max-bytes", "0"), "--max-bytes must allow at least one record of 1,000 bytes, but got 0"),
    ],
)
def test_a_bench_with_impossible_settings_starts_no_broker(words: tuple[str, ...], complaint: str) -> None:
    refused = tuner("bench", *words)
    assert refused.code == 2
    assert complaint in refused.complaint
    assert "starting Kafka" not in refused.err


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--record-bytes", "100", "--record-bytes", "1000"),
        ("experiment", "report", "mine", "-o", "mine.md", "--output", "mine.html"),
        ("--storage", "postgresql://a/b", "--storage", "postgresql://a/c", "studies"),
    ],
)
def test_an_option_that_takes_one_value_can_not_be_given_twice(words: tuple[str, ...]) -> None:
    refused = tuner(*words)
    assert refused.code == 2
    assert "it takes one value, but was given 2 times; give it once" in refused.complaint


def test_options_that_take_several_values_can_be_repeated() -> None:
    planned = tuner("plan", "--knob", "linger.ms=5", "--knob", "batch.size=10000", "--quick", "--quick")
    assert planned.code == 0, planned.err


def test_an_option_that_a_service_does_not_take_says_so() -> None:
    for words in (("run", "--bootstrap", "kafka:9092"), ("predict", "orders", "--png", "sweep.png")):
        refused = tuner("--server", "http://127.0.0.1:9", *words)
        option = next(word for word in words if word.startswith("--"))
        assert refused.code == 2
        assert f"{option} can't be used with a service: leave it out, or leave out --server" in refused.complaint
    unknown = tuner("--server", "http://127.0.0.1:9", "run", "--bootstrp", "kafka:9092")
    assert "No such option: --bootstrp" in unknown.complaint


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_command_works_with_closed_streams(tmp_path: Path, closed: str) -> None:
    command = shlex.join(arguments("init", str(tmp_path / "night.yaml")))
    ended = subprocess.run(["bash", "-c", f"exec {command} {closed}"], capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)
    assert "record_bytes" in (tmp_path / "night.yaml").read_text()


def test_a_sign_that_the_locale_lacks_is_escaped(tmp_path: Path) -> None:
    write_study(tmp_path / "overnight")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", ROOT_VARIABLE: str(tmp_path)}
    words = arguments("front", "overnight")
    ended = subprocess.run(words, env=ascii_only, capture_output=True, text=True, check=False)
    assert (ended.returncode, "\\xb1" in ended.stdout) == (0, True), ended.stderr


def test_a_folder_of_the_tuner_that_cannot_be_made_is_named_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").touch()
    monkeypatch.setenv("KAFKA_TUNER_HOME", str(tmp_path / "home"))
    done = tuner("broker", "start")
    assert done.code == 1, done.err
    assert f"{tmp_path / 'home'}" in done.complaint
    assert done.complaint.endswith("; set KAFKA_TUNER_HOME to a folder for the tuner's files that can be written to")


def test_a_home_that_cannot_be_written_to_is_named_without_notices_of_libraries(
    tmp_path: Path, studies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KAFKA_TUNER_HOME", "MPLCONFIGDIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("overnight", "second"):
        write_study(studies / name)
    synced = tuner("sync", "overnight")
    assert synced.code == 1
    home = tmp_path / "home"
    lacks = f"error: MLflow at sqlite:///{studies}/mlflow.db may lack 46 trials of overnight"
    assert synced.err.startswith(f"{lacks}: {home}/")
    assert synced.err.endswith("; set KAFKA_TUNER_HOME to a folder for the tuner's files that can be written to\n")
    drawn = tuner("compare", "overnight", "second", "--png", str(tmp_path / "front.png"))
    assert (drawn.code, drawn.err.splitlines()[-1]) == (0, f"picture written to {tmp_path / 'front.png'}")
    assert "matplotlib" not in drawn.err.lower()


def test_a_folder_that_was_deleted_is_an_error_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_TUNER_STUDIES", raising=False)
    folder = tmp_path / "gone"
    folder.mkdir()
    script = f"rmdir {shlex.quote(str(folder))}; exec {shlex.join(arguments('studies'))}"
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(["bash", "-c", script], cwd=folder, env=here, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "the working folder does not exist any more" in ended.stderr
