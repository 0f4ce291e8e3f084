"""The form in which programs with a client built on librdkafka take its properties."""

from typing import Final

from search_spaces.forms import Form, Layout

FORMS: Final = (Form("librdkafka", Layout.JSON),)
