"""Colours of charts, which people with any colour vision can tell apart. Source: Okabe and Ito (2008)."""

from typing import Final

BLUE: Final = "#0072B2"
ORANGE: Final = "#D55E00"
GREEN: Final = "#009E73"
PURPLE: Final = "#CC79A7"
GREY: Final = "#8A8F98"
BLACK: Final = "#1B1F24"
