"""Secrets that a study file took from the environment: not handed on to the processes that a study starts."""

from collections.abc import Iterator, MutableMapping

from search_spaces.roles import is_secret
from tuner.study_file.environment import names_in
from tuner.study_file.errors import Problems
from tuner.study_file.reading import Plain, read_yaml


def drop_used_secrets(text: str, environ: MutableMapping[str, str]) -> None:
    """Remove the variables that stand for secrets of the targets; the study has their values.

    Every process of the same user can read a process's environment, and Ray and MLflow start many. What the shell gave
    to this process itself stays readable there.

    Args:
        text: A study file that was read.
        environ: This process's variables, changed in place.
    """
    for value in _secrets(read_yaml(text, Problems(""))):
        for name in names_in(value):
            environ.pop(name, None)


def _secrets(value: Plain, key: str = "") -> Iterator[str]:
    match value:
        case dict():
            for name, inner in value.items():
                # The tracking server's own password is MLflow's, which reads it from there again and again.
                if name != "tracking":
                    yield from _secrets(inner, name)
        case list():
            for inner in value:
                yield from _secrets(inner, key)
        case str() if is_secret(key):
            yield value
