"""The format in which programs with a client built on librdkafka take its properties."""

from typing import Final

from search_spaces.client_facts.formats import FileLayout, PropertiesFormat

FORMATS: Final = (PropertiesFormat("librdkafka", FileLayout.JSON),)
