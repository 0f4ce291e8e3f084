"""The sections `target` and `targets`: which clusters, and how to connect to them."""

from dataclasses import dataclass

from search_spaces.connection import ConnectionConfig
from search_spaces.errors import ConfigError
from search_spaces.roles import is_secret
from tuner.model.target import Target
from tuner.study_file.errors import KeyPath, Problems
from tuner.study_file.properties import Files, reads_local_files
from tuner.study_file.sections import StudyFile, TargetSection


@dataclass(frozen=True, slots=True)
class TargetBuilder:
    """Builds the targets of one study.

    Attributes:
        file: Its sections.
        files: Reads the files that it names.
        problems: Collects what is wrong.
    """

    file: StudyFile
    files: Files
    problems: Problems

    def targets(self) -> tuple[Target, ...]:
        """One or more; what is wrong with them is noted."""
        file = self.file
        if file.targets is None:
            return (self.target(file.target, ("target",)),)
        if "target" in file.model_fields_set:
            self.problems.add(("targets",), "give target for one cluster or targets for several, not both")
        targets = tuple(self.target(each, ("targets", position)) for position, each in enumerate(file.targets))
        addresses = [target.bootstrap for target in targets]
        for position, address in enumerate(addresses):
            if address is not None and address in addresses[:position]:
                self.problems.add(
                    ("targets", position, "bootstrap"), "each cluster stands once: trials must not disturb each other"
                )
        return targets

    def target(self, section: TargetSection, place: KeyPath) -> Target:
        """One of them; what is wrong with it is noted.

        Args:
            section: What the file says of it.
            place: Where it says so.
        """
        if section.bootstrap is None:
            for key in ("command_config", "properties", "topic", "like"):
                if getattr(section, key):
                    self.problems.add((*place, key), "this is about a cluster of yours: give its address as bootstrap")
            if section.container is not None and section.brokers is not None:
                self.problems.add((*place, "brokers"), "a container runs one broker: leave brokers or container out")
            return Target(container=section.container, brokers=section.brokers or 1)
        for key in ("container", "brokers"):
            if getattr(section, key) is not None:
                self.problems.add(
                    (*place, key), "this is for brokers of our own, and bootstrap names a running cluster"
                )
        if section.topic is not None and section.like is not None:
            self.problems.add((*place, "like"), "topic is written to as it is, so like can't be given with it")
        connection = {**self._command_config(section, place), **self._connection(section, place)}
        return Target(bootstrap=section.bootstrap, connection=connection, topic=section.topic, like=section.like)

    def _command_config(self, section: TargetSection, place: KeyPath) -> dict[str, str]:
        if section.command_config is None:
            return {}
        place = (*place, "command_config")
        try:
            values = ConnectionConfig.parse(self.files.properties(section.command_config, place)).values
        except ConfigError as error:
            self.problems.add(place, self.files.words(section.command_config, place, error))
            return {}
        values.pop("bootstrap.servers", None)
        return values

    def _connection(self, section: TargetSection, place: KeyPath) -> dict[str, str]:
        for name in section.properties:
            here = (*place, "properties", name)
            if is_secret(name) and here not in self.problems.written:
                self.problems.add(
                    here,
                    "a secret is not kept in a study file: write ${NAME} of the environment, or use command_config",
                )
            if self.files.folder is None and reads_local_files(name):
                self.problems.add(here, "no local file may be named here; give the content itself (ssl.ca.pem, say)")
        try:
            return ConnectionConfig.parse(section.properties).values
        except ConfigError as error:
            self.problems.add((*place, "properties"), self.problems.words(error, (*place, "properties")))
            return {}
