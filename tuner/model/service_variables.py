"""The environment variables by which the command line finds a service, and the token that it sends to the service."""

from typing import Final

SERVER_VARIABLE: Final = "KAFKA_TUNER_SERVER"
TOKEN_VARIABLE: Final = "KAFKA_TUNER_TOKEN"
TOKEN_FILE_VARIABLE: Final = "KAFKA_TUNER_TOKEN_FILE"
