"""The types that describe dependencies between knobs (`Ordering`, `Bounds`), without any search space.

The dependencies of each client are in its folder; `search_spaces.space.dependencies` applies them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.sizes import Sizes

UNBOUNDED: Final = (float("-inf"), float("inf"))


@dataclass(frozen=True, slots=True)
class Ordering:
    """A rule that bounds one property by another: `small + plus + gap <= large * factor`.

    Attributes:
        small: The property that is bounded.
        large: The property that bounds `small`.
        rule: The name of the rule that this ordering keeps.
        factor: How many units of `small` make one unit of `large`.
        gap: How far `small` must stay below the bound, in the unit of `small`.
        unlimited: The value of `large` that means "no limit"; None if there is none.
        with_default: Whether the rule also applies if `small` has its default value.
        if_given: Whether the rule applies only if the config gives `large`.
        plus: A property whose value is added to `small`, in the same unit; "" for none.
    """

    small: str
    large: str
    rule: str
    factor: float = 1
    gap: float = 0
    unlimited: float | None = None
    with_default: bool = False
    if_given: bool = False
    plus: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How the values of a client's knobs depend on each other.

    Attributes:
        orderings: Returns the rules by which one numeric property bounds another, for given sizes.
        idempotent_numbers: The lowest and the highest number that an idempotent producer allows, by property.
        idempotent_words: The only word that an idempotent producer allows, by property.
        drawn_early: Properties that are not knobs but bound a knob. If a study searches them, they are drawn right
            after acks and idempotence.
        drawn_late: Properties that are not knobs and are bounded by others. They are drawn after all knobs.
        adjusted: Returns new values of properties, by name, so that client and topic accept a config's batches and
            records.
        undone_with: Properties that get the baseline's value back together with another one: `{name: other name}`.
        statements: One sentence for each ordering that is not one of the client's rules, by the ordering's rule.
        needs: Knobs that have an effect only if another property has a certain value: `{name: (other name, value)}`.
    """

    orderings: Callable[[Sizes], tuple[Ordering, ...]]
    idempotent_numbers: Mapping[str, tuple[float, float]]
    idempotent_words: Mapping[str, str]
    drawn_early: tuple[str, ...]
    drawn_late: tuple[str, ...]
    adjusted: Callable[[EffectiveValues, Sizes], dict[str, str]]
    undone_with: Mapping[str, str]
    statements: Mapping[str, str]
    needs: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def limit(ordering: Ordering, config: EffectiveValues) -> float:
    """Return the largest value that `ordering` allows for its smaller property and `plus` together in `config`."""
    if ordering.if_given and not config.is_given(ordering.large):
        return UNBOUNDED[1]
    large = config.number(ordering.large)
    return UNBOUNDED[1] if large == ordering.unlimited else large * ordering.factor - ordering.gap
