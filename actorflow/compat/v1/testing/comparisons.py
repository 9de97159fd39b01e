"""`Comparisons`: what `tf.test.TestCase` compares: arrays, numbers, messages, errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

import numpy as np

from actorflow import errors
from actorflow.base.dtypes import as_dtype
from actorflow.base.records.messages.text import read_text
from actorflow.compat.v1.testing.assertions import Assertions
from actorflow.graph.convert import is_symbolic
from actorflow.graph.device_spec import DeviceSpec


class Comparisons(Assertions):
    """Assertions about arrays and tensors, whose values `evaluate` gives."""

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors."""
        raise NotImplementedError

    # ---- arrays

    def _array(self, value: Any) -> Any:
        return np.asarray(self.evaluate(value) if is_symbolic(value) else value)

    _GetNdArray = _array  # its name in TensorFlow, which tests of programs call

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Fails unless two arrays have one shape and equal elements; NaNs are equal.

        Args:
            a, b: arrays or tensors.
            msg: is added to the message.
        """
        actual, expected = self._array(a), self._array(b)
        self.assertShapeEqual(actual, expected, msg)
        same = actual == expected
        if actual.dtype.kind in "fc" and expected.dtype.kind in "fc":
            same |= np.isnan(actual) & np.isnan(expected)
        if not np.all(same):
            self._tell(actual, expected, ~np.asarray(same), "not equal", msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Fails if `assertAllEqual` would not.

        Args:
            a, b, msg: as those of `assertAllEqual`.
        """
        try:
            self.assertAllEqual(a, b)
        except self.failureException:
            return
        raise self.failureException(f"The two values are equal at all elements. {msg or ''}")

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Fails unless |a - b| <= atol + rtol |b| in all elements, or in all leaves of equal structures.

        Args:
            a, b: arrays or tensors, or dicts, lists and tuples of them.
            rtol, atol: the tolerances; at least 1e-2 where an array is float16 or bfloat16.
            msg: is added to the message.
        """
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            self.assertIsInstance(a, Mapping, msg)
            self.assertIsInstance(b, Mapping, msg)
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"[{key!r}] {msg or ''}")
            return
        if isinstance(a, (list, tuple)) and _uneven(a):
            self.assertEqual(len(a), len(b), msg)
            for index, (left, other) in enumerate(zip(a, b)):
                self.assertAllClose(left, other, rtol, atol, f"[{index}] {msg or ''}")
            return
        actual, expected = self._array(a), self._array(b)
        self.assertShapeEqual(actual, expected, msg)
        if {actual.dtype.name, expected.dtype.name} & {"float16", "bfloat16"}:
            rtol, atol = max(rtol, 1e-2), max(atol, 1e-2)
        close = np.isclose(actual.astype(_wide(actual)), expected.astype(_wide(expected)), rtol, atol, equal_nan=True)
        if not np.all(close):
            self._tell(actual, expected, ~close, f"not close with rtol={rtol}, atol={atol}", msg)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """`assertAllClose` with the tolerances of the less exact of two types.

        Args:
            a, b: arrays or tensors.
            rtol, atol: for float64.
            float_rtol, float_atol: for float32 and complex64.
            half_rtol, half_atol: for float16.
            bfloat16_rtol, bfloat16_atol: for bfloat16.
            msg: is added to the message.
        """
        actual, expected = self._array(a), self._array(b)
        names = {actual.dtype.name, expected.dtype.name}
        for kinds, r, t in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if names & kinds:
                rtol, atol = max(rtol, r), max(atol, t)
        self.assertAllClose(actual.astype(_wide(actual)), expected.astype(_wide(expected)), rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Fails if `assertAllClose` would not.

        Args:
            a, b, rtol, atol, msg: as those of `assertAllClose`.
        """
        try:
            self.assertAllClose(a, b, rtol, atol)
        except self.failureException:
            return
        raise self.failureException(f"The two values are close at all elements. {msg or ''}")

    def assertArrayNear(self, farray1: Sequence[float], farray2: Sequence[float], err: float, msg: Any = None) -> None:
        """Fails unless two sequences have equal lengths and each two numbers differ by less than `err`.

        Args:
            farray1, farray2: numbers.
            err: the largest difference.
            msg: is added to the message.
        """
        self.assertEqual(len(farray1), len(farray2), msg)
        for left, other in zip(farray1, farray2):
            self.assertNear(left, other, err, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: Any = None) -> None:
        """Fails unless two numbers differ by at most `err`.

        Args:
            f1, f2: the numbers.
            err: the largest difference.
            msg: is added to the message.
        """
        if not (f1 == f2 or abs(f1 - f2) <= err):
            self.fail(f"{f1} != {f2} +/- {err}. {msg or ''}")

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: Any = None) -> None:
        """Fails unless the norm of the difference of two arrays is less than `err`.

        Args:
            ndarray1, ndarray2: arrays of one shape.
            err: the bound.
            msg: is added to the message.
        """
        self.assertLess(float(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2))), err, msg)

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: Any = None) -> None:
        """Fails unless two arrays or tensors have one shape.

        Args:
            input_a, input_b: the arrays or tensors.
            msg: the message.
        """
        actual, expected = (
            tuple(v.shape.as_list()) if hasattr(v.shape, "as_list") else v.shape for v in (input_a, input_b)
        )
        self.assertEqual(actual, expected, msg or f"Shape mismatch: {actual} and {expected}.")

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Fails unless two names are of the same device.

        Args:
            device1, device2: the names, or what describes a device.
            msg: the message.
        """
        first, second = (str(DeviceSpec.parse(str(device or ""))) for device in (device1, device2))
        self.assertEqual(first, second, msg or f"Devices {first} and {second} are not equal.")

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Fails unless an array or a tensor has a type."""
        self.assertIs(as_dtype(target.dtype).base_dtype, as_dtype(expected_dtype).base_dtype)

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are greater than a number."""
        self._all(a, lambda array: array > comparison_target, f"> {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are less than a number."""
        self._all(a, lambda array: array < comparison_target, f"< {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are at least a number."""
        self._all(a, lambda array: array >= comparison_target, f">= {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are at most a number."""
        self._all(a, lambda array: array <= comparison_target, f"<= {comparison_target}")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Fails unless all elements are in a set."""
        self._all(target, lambda array: np.isin(array, list(expected_set)), f"in {expected_set}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: float,
        upper_bound: float,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fails unless all elements are between two numbers.

        Args:
            target: an array or a tensor.
            lower_bound, upper_bound: the numbers, which are allowed themselves.
            open_lower_bound, open_upper_bound: whether they are not.
        """
        self._all(
            target,
            lambda x: (
                ((x > lower_bound) if open_lower_bound else (x >= lower_bound))
                & ((x < upper_bound) if open_upper_bound else (x <= upper_bound))
            ),
            f"between {lower_bound} and {upper_bound}",
        )

    def _all(self, value: Any, test: Any, what: str) -> None:
        array = self._array(value)
        good = np.asarray(test(array))
        if not good.all():
            self.fail(
                f"These elements are not {what}: {array[~good][:10].tolist()}, at {np.argwhere(~good)[:10].tolist()}."
            )

    def _tell(self, actual: Any, expected: Any, bad: Any, what: str, msg: Any) -> NoReturn:
        places = np.argwhere(bad)[:10].tolist()
        lines = [
            f"{int(np.sum(bad))} of {bad.size} elements are {what}. {msg or ''}",
            f"  at {places}",
            f"  {np.atleast_1d(actual)[np.atleast_1d(bad)][:10].tolist()} against",
            f"  {np.atleast_1d(expected)[np.atleast_1d(bad)][:10].tolist()}",
        ]
        raise self.failureException("\n".join(lines))

    # ---- errors

    @contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected_err_re_or_predicate: Any) -> Iterator[None]:
        """A block that has to raise an error whose text a regular expression, or a function of the error, finds.

        Args:
            exception_type: the class of the error, or a tuple of classes.
            expected_err_re_or_predicate: a regular expression for its text (for an `OpError` its message), or a function.
        """
        try:
            yield
        except exception_type as error:
            expected = expected_err_re_or_predicate
            if callable(expected):
                self.assertTrue(expected(error), f"The error is another one: {error!r}")
            else:
                self.assertRegex(str(error), expected)
            return
        self.fail(f"{exception_type} was not raised.")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> AbstractContextManager[None]:
        """`assertRaisesWithPredicateMatch` for `tf.errors.OpError`."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertStartsWith(self, actual: str, expected_start: str, msg: Any = None) -> None:
        """Fails unless a text starts with another.

        Args:
            actual: the text.
            expected_start: what it should start with.
            msg: is added to the message.
        """
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} does not start with {expected_start!r}.")

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: Any = None) -> None:
        """Fails unless two messages are equal.

        Args:
            expected_message_maybe_ascii: a message, or a message in the text format.
            message: the other message.
            msg: is added to the message.
        """
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = read_text(expected, type(message)())
        self.assertEqual(str(expected), str(message), msg)


def _wide(array: Any) -> Any:
    """A type in which differences of the elements are exact enough."""
    return np.complex128 if array.dtype.kind == "c" else np.float64


def _uneven(structure: Any) -> bool:
    """Whether a list or tuple is a structure of arrays, rather than one array."""
    if any(is_symbolic(part) or isinstance(part, Mapping) for part in structure):
        return True
    return (
        len(
            {np.shape(part) if not isinstance(part, (list, tuple)) or not _uneven(part) else None for part in structure}
        )
        > 1
    )
