"""Tests of parsing a storage's address, and that no part of a password is ever shown."""

import logging
from pathlib import Path

import pytest

from tests.helpers.postgres_server import PASSWORD
from tests.helpers.shared_storage import storage_of
from tuner.model.errors import ExitCode, StorageMisnamed, exit_code_of
from tuner.model.secrets_in_urls import masked_url, secrets_in
from tuner.storage.locations import STORAGE_VARIABLE, storage_at
from tuner.storage.postgres import PostgresStorage
from tuner.storage.postgres_url import PostgresUrl
from tuner.storage.sqlite import FolderStorage
from tuner.tracking import TrackingLocation


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("postgresql://ann@db.example/tuner", {"user": "ann", "host": "db.example", "dbname": "tuner"}),
        ("postgres://db/tuner", {"host": "db", "dbname": "tuner"}),
        ("postgresql+psycopg://db/tuner", {"host": "db", "dbname": "tuner"}),
        ("postgresql:///tuner?host=/run/pg", {"dbname": "tuner", "host": "/run/pg"}),
        (
            "postgresql://ann:p%40ss%2Fw%3A@[::1]:5433/my%20db?sslmode=verify-full",
            {
                "user": "ann",
                "password": "p@ss/w:",
                "host": "::1",
                "port": "5433",
                "dbname": "my db",
                "sslmode": "verify-full",
            },
        ),
        (
            "postgresql://a@one:5432,two:5433/t?target_session_attrs=read-write",
            {"user": "a", "host": "one,two", "port": "5432,5433", "dbname": "t", "target_session_attrs": "read-write"},
        ),
    ],
)
def test_a_url_becomes_libpqs_parameters(text: str, parameters: dict[str, str]) -> None:
    assert PostgresUrl.parse(text).parameters == parameters
    assert PostgresUrl.parse(f" {text}\n").parameters == parameters


SECRET = "s3cret"
WITH_AT = f"p@{SECRET}"


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://ann:{SECRET}@db",  # no database
        f"postgresql://ann:{SECRET}@db:port/tuner",
        f"postgresql://ann:x@{SECRET}@db/tuner",  # an @ in the password that is not written as %40
        f"postgresql://ann:{SECRET}/tuner",  # the @ is missing: the password is in the place of the port
        f"mysql://ann:{SECRET}@db/tuner",
        f"ann:{SECRET}@db/tuner",
        f"host=db password={SECRET}",
        "studies",
        "postgresql://",
    ],
)
def test_an_invalid_url_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(StorageMisnamed, match=r"a storage must .*postgresql://USER@HOST:PORT/DATABASE") as raised:
        PostgresUrl.parse(text)
    assert SECRET not in str(raised.value)
    assert exit_code_of(raised.value) is ExitCode.USAGE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"postgresql://ann:{SECRET}@db/tuner", "postgresql://ann:***@db/tuner"),
        (f"postgresql://db/tuner?password={SECRET}&sslmode=require", "postgresql://db/tuner?password=***&sslmode=require"),
        (f"postgresql+psycopg://ann:{SECRET}@db:5432/a?sslpassword={SECRET}", "postgresql+psycopg://ann:***@db:5432/a?sslpassword=***"),
        ("postgresql://ann@db/tuner", "postgresql://ann@db/tuner"),
        (f"https://ann:{SECRET}@mlflow.example:5000/base", "https://ann:***@mlflow.example:5000/base"),
        (f"https://ann:{WITH_AT}@mlflow.example:5000/base", "https://ann:***@mlflow.example:5000/base"),
        (f"https://ann@mail.example:{SECRET}@mlflow.example", "https://ann@mail.example:***@mlflow.example"),
        (f"https://ann:{SECRET}/?#@mlflow.example/base", "https://ann:***@mlflow.example/base"),
        ("https://ann@mlflow.example:5000/a@b", "https://ann@mlflow.example:5000/a@b"),
        (f"http:/ann:{SECRET}@mlflow.example/base", "http:/ann:***@mlflow.example/base"),
        (f"https//ann:{SECRET}@mlflow.example/base", "https//ann:***@mlflow.example/base"),
        ("sqlite:////studies/mlflow.db", "sqlite:////studies/mlflow.db"),
        ("/studies/ann:a@b/mlflow.db", "/studies/ann:a@b/mlflow.db"),
    ],
)  # fmt: skip
def test_a_shown_url_contains_no_secret(text: str, shown: str) -> None:
    assert masked_url(text) == TrackingLocation(text, Path()).shown == shown
    assert SECRET not in TrackingLocation(text, Path()).masked(f"MLflow says: {text}")
    assert bool(secrets_in(text)) is (SECRET in text)
    if text.startswith("postgresql"):
        parsed = PostgresUrl.parse(text)
        assert parsed.shown == shown
        assert SECRET not in repr(parsed)
        assert parsed.masked(f"libpq says: {SECRET}").endswith("***" if SECRET in text else SECRET)


def test_secrets_are_returned_as_written_and_decoded() -> None:
    assert set(secrets_in("postgresql://ann:p%40ss@db/tuner?sslpassword=%2Fk")) == {"p%40ss", "p@ss", "%2Fk", "/k"}


def test_the_error_names_a_parameter_that_libpq_does_not_know() -> None:
    storage = storage_of("postgresql://127.0.0.1:1/tuner?sslmod=require&password=s3cret")
    with pytest.raises(StorageMisnamed, match="sslmod") as raised:
        storage.names(None)  # type: ignore[arg-type]
    assert SECRET not in str(raised.value)


def test_the_storage_is_named_or_from_the_environment_or_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(storage_at(), FolderStorage)
    monkeypatch.setenv(STORAGE_VARIABLE, "")
    assert isinstance(storage_at(), FolderStorage)
    monkeypatch.setenv(STORAGE_VARIABLE, "postgresql://db/ours")
    found = storage_at()
    assert isinstance(found, PostgresStorage)
    assert (found.shown, found.is_shared) == ("postgresql://db/ours", True)
    assert storage_at("postgresql://db/theirs").shown == "postgresql://db/theirs"


def test_no_password_reaches_a_log(database: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    storage = storage_of(database)
    assert storage.names(None) == []  # type: ignore[arg-type]
    assert PASSWORD not in caplog.text
    assert PASSWORD not in repr(storage)
    assert PASSWORD not in str(vars(storage))
