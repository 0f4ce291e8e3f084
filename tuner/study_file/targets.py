"""The sections `target` and `targets`: which clusters, and how to connect to them."""

from search_spaces.connection import ConnectionConfig
from search_spaces.errors import ConfigError
from search_spaces.roles import is_secret
from tuner.model.target import Target
from tuner.study_file.errors import KeyPath
from tuner.study_file.properties import Files, reads_local_files
from tuner.study_file.sections import StudyFile, TargetSection


def targets_of(file: StudyFile, files: Files) -> tuple[Target, ...]:
    """The targets of a study, one or more; what is wrong with them is noted.

    Args:
        file: Its sections.
        files: Reads the files that it names.
    """
    if file.targets is None:
        return (target_of(file.target, ("target",), files),)
    if "target" in file.model_fields_set:
        files.problems.add(("targets",), "give target for one cluster or targets for several, not both")
    targets = tuple(target_of(each, ("targets", position), files) for position, each in enumerate(file.targets))
    addresses = [target.bootstrap for target in targets]
    for position, address in enumerate(addresses):
        if address is not None and address in addresses[:position]:
            files.problems.add(
                ("targets", position, "bootstrap"), "each cluster stands once: trials must not disturb each other"
            )
    return targets


def target_of(section: TargetSection, place: KeyPath, files: Files) -> Target:
    """One of them; what is wrong with it is noted.

    Args:
        section: What the file says of it.
        place: Where it says so.
        files: Reads the files that it names.
    """
    if section.bootstrap is None:
        for key in ("command_config", "properties", "topic", "like"):
            if getattr(section, key):
                files.problems.add((*place, key), "this is about a cluster of yours: give its address as bootstrap")
        if section.container is not None and section.brokers is not None:
            files.problems.add((*place, "brokers"), "a container runs one broker: leave brokers or container out")
        return Target(container=section.container, brokers=section.brokers or 1)
    for key in ("container", "brokers"):
        if getattr(section, key) is not None:
            files.problems.add((*place, key), "this is for brokers of our own, and bootstrap names a running cluster")
    if section.topic is not None and section.like is not None:
        files.problems.add((*place, "like"), "topic is written to as it is, so like can't be given with it")
    connection = {**_command_config(section, place, files), **_connection(section, place, files)}
    return Target(bootstrap=section.bootstrap, connection=connection, topic=section.topic, like=section.like)


def _command_config(section: TargetSection, place: KeyPath, files: Files) -> dict[str, str]:
    if section.command_config is None:
        return {}
    place = (*place, "command_config")
    try:
        values = ConnectionConfig.parse(files.properties(section.command_config, place)).values
    except ConfigError as error:
        files.problems.add(place, files.words(section.command_config, place, error))
        return {}
    values.pop("bootstrap.servers", None)
    return values


def _connection(section: TargetSection, place: KeyPath, files: Files) -> dict[str, str]:
    for name in section.properties:
        here = (*place, "properties", name)
        if is_secret(name) and here not in files.problems.written:
            files.problems.add(
                here,
                "a secret is not kept in a study file: write ${NAME} of the environment, or use command_config",
            )
        if files.folder is None and reads_local_files(name):
            files.problems.add(here, "no local file may be named here; give the content itself (ssl.ca.pem, say)")
    try:
        return ConnectionConfig.parse(section.properties).values
    except ConfigError as error:
        files.problems.add((*place, "properties"), files.problems.words(error, (*place, "properties")))
        return {}
