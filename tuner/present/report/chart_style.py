"""The colours and the logarithmic axes of charts, for any drawing library."""

from collections.abc import Iterable
from typing import Final

# People with any colour vision can tell these colours apart. Source: Okabe and Ito (2008). On white, and inverted as in
# dark mode, each has a contrast of at least 3 with the ground, but only while it is opaque.
BLUE: Final = "#0072B2"
ORANGE: Final = "#D55E00"
GREEN: Final = "#009E73"
PURPLE: Final = "#CC79A7"
GREY: Final = "#8A8F98"
BLACK: Final = "#1B1F24"


_USUAL_RATIO: Final = 8.0
FROM_ZERO_RATIO: Final = 20.0
"""The smallest ratio for a logarithmic axis if a linear axis would begin at 0."""


def is_wide(values: Iterable[float], ratio: float = _USUAL_RATIO) -> bool:
    """Return whether a chart should show values on a logarithmic axis: all are above 0, and they differ widely.

    Args:
        values: The values.
        ratio: The smallest ratio of the largest to the smallest value for a logarithmic axis.
    """
    numbers = list(values)
    return bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) >= ratio
