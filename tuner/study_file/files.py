"""Properties files that a study file names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from search_spaces.errors import ConfigError, PropertiesFileError
from search_spaces.properties_file import read_properties
from tuner.study_file.errors import Place, Problems


@dataclass(frozen=True, slots=True)
class Files:
    """Reads files for one study.

    Attributes:
        folder: Where relative paths begin; None when no local file may be read.
        problems: Collects what is wrong.
    """

    folder: Path | None
    problems: Problems

    def properties(self, path: str, place: Place) -> Mapping[str, str]:
        """The entries of a properties file; none, and a problem noted, when no file may be read.

        Raises:
            PropertiesFileError: The file can't be read.
        """
        if self.folder is None:
            self.problems.add(place, "no file may be read here; write the properties themselves")
            return {}
        home, _, rest = path.partition("/")
        return read_properties(self.folder / (Path.home() / rest if home == "~" else path))

    def words(self, path: str, place: Place, error: ConfigError) -> str:
        """An error about a file, under the name that the study file gives it."""
        shown = self.problems.written.get(place, path)
        if isinstance(error, PropertiesFileError):
            return str(PropertiesFileError(shown, error.line, error.key, error.rule))
        return f"{shown}: {error}"
