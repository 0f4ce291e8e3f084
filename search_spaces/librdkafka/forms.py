"""The format in which programs with a client built on librdkafka take its properties."""

from typing import Final

from search_spaces.client_facts.forms import FileLayout, Form

FORMS: Final = (Form("librdkafka", FileLayout.JSON),)
