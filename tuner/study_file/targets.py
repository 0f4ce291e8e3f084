"""Reads from a study file the clusters that are measured, and checks the settings of each cluster."""

from runners.errors import RunnerError
from runners.zones.link import Link
from search_spaces.connection.connection_config import ConnectionConfig
from search_spaces.errors import ConfigError
from search_spaces.properties.catalogue import is_secret
from tuner.model.target import Target
from tuner.study_file.errors import KeyPath, Problems
from tuner.study_file.properties import Files, reads_local_files
from tuner.study_file.sections import StudyFile, TargetSection


def targets_of(file: StudyFile, files: Files) -> tuple[Target, ...]:
    """Return the targets (Kafka clusters) of a study, and note the problems with these targets.

    Args:
        file: The sections of the study file.
        files: Reads the files that the study file names, and holds the list of problems.
    """
    if file.targets is None:
        return (target_of(file.target, ("target",), files),)
    if "target" in file.model_fields_set:
        files.problems.add(
            ("targets",), "target and targets exclude each other; give target for one cluster or targets for several"
        )
    targets = tuple(target_of(each, ("targets", position), files) for position, each in enumerate(file.targets))
    addresses = [target.bootstrap for target in targets]
    for position, address in enumerate(addresses):
        if address is not None and address in addresses[:position]:
            files.problems.add(
                ("targets", position, "bootstrap"),
                "this cluster is listed twice; leave it out here, because trials on one cluster disturb each other",
            )
    return targets


def check_ray_address(address: str | None, problems: Problems) -> None:
    """Note a problem if the address of a Ray cluster is one of Ray's client."""
    if address is not None and address.startswith("ray://"):
        problems.add(
            ("executor", "ray_address"),
            "must be host:port of the cluster's head, or auto, but not ray://...; Ray's client can't stream "
            "results, so run the tuner on a node of the cluster",
        )


def target_of(section: TargetSection, key_path: KeyPath, files: Files) -> Target:
    """Return one target (a Kafka cluster), and note the problems with this target.

    Args:
        section: The section that describes the target.
        key_path: Key path of that section.
        files: Reads the files that the section names, and holds the list of problems.
    """
    if section.bootstrap is None:
        for key in ("command_config", "properties", "topic", "like"):
            if getattr(section, key):
                files.problems.add((*key_path, key), f"{key} needs bootstrap; give the address of your cluster there")
        if section.container is not None and section.brokers is not None:
            files.problems.add((*key_path, "brokers"), "a container runs one broker; leave brokers or container out")
        link = _link(section)
        if section.container is not None and link is not None:
            files.problems.add(
                (*key_path, "container"), "zone_delay and zone_bandwidth need brokers without a container; leave it out"
            )
        return Target(container=section.container, brokers=section.brokers or 1, link=link)
    for key in ("container", "brokers", "zone_delay", "zone_bandwidth"):
        if getattr(section, key) is not None:
            files.problems.add(
                (*key_path, key),
                f"{key} is for brokers that the tuner starts, but bootstrap names a running cluster; leave one of them "
                "out",
            )
    if section.topic is not None and section.like is not None:
        files.problems.add(
            (*key_path, "like"),
            "topic and like exclude each other, because topic is used as it is; leave one of them out",
        )
    from_file, variables = _command_config(section, key_path, files)
    return Target(
        bootstrap=section.bootstrap,
        connection={**from_file, **_connection(section, key_path, files)},
        topic=section.topic,
        like=section.like,
        secret_variables=variables,
    )


def _link(section: TargetSection) -> Link | None:
    """Return the link to another zone; None if the section asks for none."""
    if section.zone_delay is None and section.zone_bandwidth is None:
        return None
    bandwidth = section.zone_bandwidth
    return Link.symmetric(1e3 * (section.zone_delay or 0.0), None if bandwidth is None else bandwidth / 1e6)


def _command_config(section: TargetSection, key_path: KeyPath, files: Files) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the properties of the connection file, and the environment variables from which it takes secrets."""
    if section.command_config is None:
        return {}, ()
    key_path = (*key_path, "command_config")
    try:
        return files.connection(section.command_config, key_path)
    except ConfigError as error:
        files.problems.add(key_path, files.words(section.command_config, key_path, error))
    except RunnerError as error:
        files.problems.add(key_path, str(error))
    return {}, ()


def _connection(section: TargetSection, key_path: KeyPath, files: Files) -> dict[str, str]:
    for name in section.properties:
        path_of_value = (*key_path, "properties", name)
        if is_secret(name) and path_of_value not in files.problems.written:
            files.problems.add(
                path_of_value,
                "a secret must not be written into a study file; write ${NAME} to take it from an environment "
                "variable, or put it into the file of command_config",
            )
        if files.folder is None and reads_local_files(name):
            files.problems.add(
                path_of_value,
                "local files can't be used for this study; give the file's content, for example as ssl.ca.pem",
            )
    try:
        return ConnectionConfig.parse(section.properties).values
    except ConfigError as error:
        files.problems.add((*key_path, "properties"), files.problems.words(error, (*key_path, "properties")))
        return {}
