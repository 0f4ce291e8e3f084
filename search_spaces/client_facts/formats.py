"""The formats in which the users of a client write its properties, as data.

The formats of each client are in its folder.
"""

from dataclasses import dataclass
from enum import StrEnum


class FileLayout(StrEnum):
    """How the file of a format is written. The value is also the end of the file's name."""

    PROPERTIES = "properties"
    YAML = "yaml"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class PropertiesFormat:
    """A format in which one program takes the properties of a producer.

    Attributes:
        name: The name of the format, such as "spring".
        layout: How the file is written.
        key: The key of a property in the file. `{}` stands for the property's name.
        inside: In YAML, the keys under which the properties stand, the outermost first.
        resource: In YAML, the kind of the Kubernetes resource that the properties belong to; "" if to none.
        own_defaults: Properties of speed or guarantee for which the program has another default than the client. They
            must always be written, because without them the program would not use the measured config.
        usage: What to do with the file, for the comment in it; "" if there is nothing to say.
    """

    name: str
    layout: FileLayout = FileLayout.PROPERTIES
    key: str = "{}"
    inside: tuple[str, ...] = ()
    resource: str = ""
    own_defaults: tuple[str, ...] = ()
    usage: str = ""
