"""`Assertions`: those of absl's test cases, from which TensorFlow's are derived: containers, orders, structures, folders."""

from __future__ import annotations

import itertools
import json
import re
import unittest
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any


class Assertions(unittest.TestCase):
    """Assertions about containers and texts, by the names that they have in absl."""

    def get_temp_dir(self) -> str:
        """The folder of the test."""
        raise NotImplementedError

    def _hold(self, holds: object, what: str, msg: Any) -> None:
        if not holds:
            self.fail(self._formatMessage(msg, what))

    # ---- containers

    def assertLen(self, container: Any, expected_len: int, msg: Any = None) -> None:
        """Fails unless a container has `expected_len` elements.

        Args:
            container: the elements.
            expected_len: how many elements are expected.
            msg: a text for the failure.
        """
        self._hold(
            len(container) == expected_len, f"{container!r} has {len(container)} elements, not {expected_len}.", msg
        )

    def assertEmpty(self, container: Any, msg: Any = None) -> None:
        """Fails unless a container has no elements."""
        self._hold(len(container) == 0, f"{container!r} has {len(container)} elements, not 0.", msg)

    def assertNotEmpty(self, container: Any, msg: Any = None) -> None:
        """Fails if a container has no elements."""
        self._hold(len(container) > 0, f"{container!r} has no elements.", msg)

    def assertContainsSubset(self, expected_subset: Iterable[Any], actual_set: Iterable[Any], msg: Any = None) -> None:
        """Fails unless all elements of the first are in the second.

        Args:
            expected_subset: elements that have to be there.
            actual_set: the elements that are there.
            msg: a text for the failure.
        """
        missing = set(expected_subset) - set(actual_set)
        self._hold(not missing, f"{actual_set!r} has not {missing!r}.", msg)

    def assertNoCommonElements(self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: Any = None) -> None:
        """Fails if an element is in both.

        Args:
            expected_seq: the first elements.
            actual_seq: the second elements.
            msg: a text for the failure.
        """
        common = set(expected_seq) & set(actual_seq)
        self._hold(not common, f"Both have {common!r}.", msg)

    def assertSameElements(self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: Any = None) -> None:
        """Fails unless both have the same elements, in whatever order and number.

        Args:
            expected_seq: the first elements.
            actual_seq: the second elements.
            msg: a text for the failure.
        """
        expected, actual = list(expected_seq), list(actual_seq)
        missing = [each for each in expected if each not in actual]
        others = [each for each in actual if each not in expected]
        self._hold(not missing and not others, f"The second has not {missing!r}, and has {others!r} beside.", msg)

    def assertSequenceStartsWith(self, prefix: Any, whole: Sequence[Any], msg: Any = None) -> None:
        """Fails unless a sequence begins with these elements, or with this element.

        Args:
            prefix: the first elements, or the first element.
            whole: the sequence.
            msg: a text for the failure.
        """
        first = list(prefix) if isinstance(prefix, Collection) else [prefix]
        self._hold(list(whole[: len(first)]) == first, f"{whole!r} does not begin with {first!r}.", msg)

    def assertContainsSubsequence(self, container: Iterable[Any], subsequence: Sequence[Any], msg: Any = None) -> None:
        """Fails unless the elements come in this order, others between them or not.

        Args:
            container: the elements.
            subsequence: elements in their order.
            msg: a text for the failure.
        """
        rest = iter(container)
        left = [each for each in subsequence if each not in rest]
        self._hold(not left, f"{left!r} does not come in this order.", msg)

    def assertContainsExactSubsequence(
        self, container: Iterable[Any], subsequence: Sequence[Any], msg: Any = None
    ) -> None:
        """Fails unless the elements come in this order, side by side.

        Args:
            container: the elements.
            subsequence: elements in their order.
            msg: a text for the failure.
        """
        whole, part = list(container), list(subsequence)
        starts = range(len(whole) - len(part) + 1)
        self._hold(any(whole[at : at + len(part)] == part for at in starts), f"{whole!r} has not {part!r} in it.", msg)

    def assertContainsInOrder(self, strings: Iterable[str], target: str, msg: Any = None) -> None:
        """Fails unless a text has these texts in this order.

        Args:
            strings: texts in their order, or a text.
            target: the text.
            msg: a text for the failure.
        """
        place = 0
        for each in [strings] if isinstance(strings, str) else strings:
            place = target.find(each, place)
            self._hold(place >= 0, f"{target!r} has not {each!r} behind what comes before.", msg)
            place += len(each)

    def assertTotallyOrdered(self, *groups: Iterable[Any], msg: Any = None) -> None:
        """Fails unless each element of a group is less than those of later groups, and equal to those of its own."""
        lists = [list(group) for group in groups]
        for lower, upper in itertools.combinations(range(len(lists)), 2):
            for a, b in itertools.product(lists[lower], lists[upper]):
                self._hold(a < b and b > a and a != b, f"{a!r} is not less than {b!r}.", msg)
        for each in lists:
            for a, b in itertools.product(each, each):
                self._hold(a == b and not a < b, f"{a!r} and {b!r} are not equal.", msg)

    def assertSameStructure(self, a: Any, b: Any, aname: str = "a", bname: str = "b", msg: Any = None) -> None:
        """Fails unless nested dicts and lists are equal, and tells the places that differ.

        Args:
            a: the first structure.
            b: the second structure.
            aname: the name of the first, for the failure.
            bname: the name of the second, for the failure.
            msg: a text for the failure.
        """
        differences = list(_differences(a, b, ""))
        places = "; ".join(f"{aname}{place} {what} {bname}{place}" for place, what in differences[:10])
        self._hold(not differences, places, msg)

    def assertJsonEqual(self, first: str, second: str, msg: Any = None) -> None:
        """Fails unless two texts are the same JSON.

        Args:
            first: the first text.
            second: the second text.
            msg: a text for the failure.
        """
        self.assertSameStructure(json.loads(first), json.loads(second), "first", "second", msg)

    # ---- numbers and texts

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: Any = None) -> None:
        """Fails unless a value is between two others, or equal to an end.

        Args:
            value: the value.
            minv: the least value.
            maxv: the greatest value.
            msg: a text for the failure.
        """
        self._hold(minv <= value <= maxv, f"{value!r} is not between {minv!r} and {maxv!r}.", msg)

    def assertEndsWith(self, actual: str, expected_end: str, msg: Any = None) -> None:
        """Fails unless a text ends with another.

        Args:
            actual: the text.
            expected_end: the end that is expected.
            msg: a text for the failure.
        """
        self._hold(actual.endswith(expected_end), f"{actual!r} does not end with {expected_end!r}.", msg)

    def assertRegexMatch(self, actual_str: Any, regexes: Sequence[Any], message: Any = None) -> None:
        """Fails unless an expression finds something in a text.

        Args:
            actual_str: the text.
            regexes: regular expressions.
            message: a text for the failure.
        """
        self._hold(
            any(re.search(each, actual_str) for each in regexes),
            f"{actual_str!r} matches none of {regexes!r}.",
            message,
        )

    def assertRaisesWithLiteralMatch(
        self, expected_exception: Any, expected_exception_message: str, callable_obj: Callable[..., Any], *args: Any
    ) -> None:
        """Fails unless a call raises an error with exactly this text.

        Args:
            expected_exception: the class of the error.
            expected_exception_message: its text.
            callable_obj: the function.
            args: its arguments.
        """
        with self.assertRaises(expected_exception) as caught:
            callable_obj(*args)
        self.assertEqual(str(caught.exception), expected_exception_message)

    # ---- folders

    def create_tempdir(self, name: str | None = None) -> Path:
        """A new folder in that of the test."""
        folder = Path(self.get_temp_dir(), name) if name else Path(mkdtemp(dir=self.get_temp_dir()))
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def create_tempfile(self, file_path: str | None = None, content: str | bytes = b"") -> Path:
        """A new file with that content, in the folder of the test."""
        path = Path(self.get_temp_dir(), file_path) if file_path else self.create_tempdir() / "file"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


def _differences(a: Any, b: Any, place: str) -> Iterable[tuple[str, str]]:
    """The places at which two structures differ, each with a phrase."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in [*a, *(key for key in b if key not in a)]:
            if key in a and key in b:
                yield from _differences(a[key], b[key], f"{place}[{key!r}]")
            else:
                yield f"{place}[{key!r}]", "is there, but not" if key in a else "is missing, but there is"
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        for index, (left, right) in enumerate(itertools.zip_longest(a, b, fillvalue=_NOTHING)):
            yield from _differences(left, right, f"{place}[{index}]")
    elif a is _NOTHING or b is _NOTHING or a != b:
        yield place, f"({a!r}) is not ({b!r}) of"


_NOTHING = object()
