"""Entry point of the stand-in image: writes `server.properties`, formats the log directory, and runs Kafka."""

import os
import subprocess
from pathlib import Path

KAFKA = ["/opt/java/bin/java", "-Xmx512m", "-cp", "/opt/kafka/*"]
PROPERTIES = Path("/tmp/server.properties")
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


def property_name(variable: str) -> str:
    """The property for a variable: the reverse of the rule that Kafka's image documents."""
    name = variable.removeprefix("KAFKA_").lower().replace("___", "-")
    return "_".join(part.replace("_", ".") for part in name.split("__"))


def main() -> None:
    """Become the broker process; never return."""
    properties = {property_name(name): value for name, value in os.environ.items() if name.startswith("KAFKA_")}
    PROPERTIES.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    tool = [*KAFKA, "kafka.tools.StorageTool", "format", "-c", str(PROPERTIES), "-t", CLUSTER_ID]
    subprocess.run(tool, check=True)
    os.execv(KAFKA[0], [*KAFKA, "kafka.Kafka", str(PROPERTIES)])


if __name__ == "__main__":
    main()
