"""The tree of errors in the documentation of their module is the tree of the classes."""

import re

from tuner.model import errors
from tuner.model.errors import StudyError, exit_code_of


def test_the_drawn_tree_names_each_error_with_its_exit_code() -> None:
    drawn = {name: int(code) for name, code in re.findall(r"── (\w+) .*\(exit (\d+)\)", str(errors.__doc__))}
    classes = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, StudyError)]
    assert drawn == {each.__name__: exit_code_of(each.__new__(each)) for each in classes if each is not StudyError}
