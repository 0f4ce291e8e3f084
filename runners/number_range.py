"""The range of a number, and the rule that messages show for it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The numbers that a setting may have. As text, this is the rule: `must be a whole number from 1 to 64`.

    Attributes:
        low: The smallest number. With `above`, the setting must be greater than this number.
        high: The largest number. With `below`, the setting must be less than this number.
        whole: Whether the number must be whole.
        above: Whether `low` itself is excluded.
        below: Whether `high` itself is excluded.
        unit: The unit of the numbers, such as `seconds`; empty for none.
    """

    low: float
    high: float
    whole: bool = False
    above: bool = False
    below: bool = False
    unit: str = ""

    def __contains__(self, number: float) -> bool:
        if not self.low <= number <= self.high or (self.whole and number != int(number)):
            return False
        return not (self.above and number == self.low) and not (self.below and number == self.high)

    def __str__(self) -> str:
        if self.above:
            ends = f"above {self.low:,} and {'below' if self.below else 'at most'} {self.high:,}"
        else:
            ends = f"from {self.low:,} {'to below' if self.below else 'to'} {self.high:,}"
        return f"must be a {'whole ' if self.whole else ''}number {ends}{self.unit and f' {self.unit}'}"

    def broken_by(self, number: float) -> str:
        """Return the rule and a number that breaks it: `must be a whole number from 1 to 64, but got 0`."""
        written = int(number) if number % 1 == 0 else number
        return f"{self}, but got {written}"
