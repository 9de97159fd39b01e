"""`tf.test.TestCase`, by test cases that pass or fail."""

from __future__ import annotations

import random
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf


def outcome(body: Callable[[Any], None]) -> unittest.TestResult:
    """The result of a test case whose only test is `body`."""
    case = type("Case", (tf.test.TestCase,), {"test": body})("test")
    result = unittest.TestResult()
    case.run(result)
    return result


def passes(body: Callable[[Any], None]) -> bool:
    result = outcome(body)
    assert not result.errors, result.errors[0][1]
    return not result.failures


def test_each_test_has_a_graph_and_seeds_of_its_own() -> None:
    found = []

    def body(case: Any) -> None:
        drawn = tf.random_uniform([3])
        with case.test_session() as session, case.test_session() as again:
            assert session is again is tf.get_default_session()
            found.append((drawn.eval().tolist(), np.random.rand(), random.random(), len(tf.get_default_graph())))

    assert passes(body) and passes(body)
    assert found[0] == found[1]
    assert tf.get_default_session() is None


def test_sessions_and_folders_end_with_their_test() -> None:
    kept: dict[str, Any] = {}

    def body(case: Any) -> None:
        kept["folder"] = Path(case.get_temp_dir())
        assert kept["folder"].is_dir() and case.get_temp_dir() == str(kept["folder"])
        with case.session() as own, case.cached_session() as shared:
            assert own is not shared
        kept["own"], kept["shared"] = own, shared
        with tf.Graph().as_default() as other:
            two = tf.constant(2)
        with case.session(graph=other):
            assert two.eval() == 2
        with pytest.raises(ValueError, match="different"):
            case.cached_session(graph=other).__enter__()
        assert case.evaluate({"a": tf.constant(1)}) == {"a": 1}

    assert passes(body)
    assert not kept["folder"].exists()
    assert kept["own"]._closed and kept["shared"]._closed


HALF = np.float16([1.0, 2.0])


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (lambda c: c.assertAllEqual([1, 2], np.array([1, 2])), lambda c: c.assertAllEqual([1, 2], [1, 3])),
        (lambda c: c.assertAllEqual([np.nan], [np.nan]), lambda c: c.assertAllEqual([1], [[1]])),
        (lambda c: c.assertAllEqual(tf.constant([b"a"]), [b"a"]), lambda c: c.assertAllEqual(tf.constant(1), 2)),
        (lambda c: c.assertNotAllEqual([1], [2]), lambda c: c.assertNotAllEqual([1], [1])),
        (lambda c: c.assertAllClose(1.0, 1 + 1e-7), lambda c: c.assertAllClose(1.0, 1.1)),
        (lambda c: c.assertAllClose(HALF, HALF + 0.01), lambda c: c.assertAllClose([1.0], [1.0, 1.0])),
        (lambda c: c.assertAllClose({"a": [1.0]}, {"a": [1]}), lambda c: c.assertAllClose({"a": 1}, {"b": 1})),
        (
            lambda c: c.assertAllClose([[1.0], [1.0, 2.0]], [[1], [1, 2]]),
            lambda c: c.assertAllClose([[1], [1, 2]], [[1], [1, 3]]),
        ),
        (lambda c: c.assertAllClose([tf.constant(1.0), 2.0], [1, 2]), lambda c: c.assertAllClose([tf.constant(1.0)], [2])),
        (
            lambda c: c.assertAllCloseAccordingToType(HALF, np.array([1.0005, 2.0])),
            lambda c: c.assertAllCloseAccordingToType(np.float32([1]), np.array([1.0005])),
        ),
        (lambda c: c.assertNotAllClose([1.0], [2.0]), lambda c: c.assertNotAllClose([1.0], [1.0])),
        (lambda c: c.assertArrayNear([1, 2], [1.05, 2], 0.1), lambda c: c.assertArrayNear([1, 2], [1.5, 2], 0.1)),
        (lambda c: c.assertNear(1, 1.05, 0.1), lambda c: c.assertNear(1, 2, 0.1)),
        (lambda c: c.assertNDArrayNear([1, 2], [1, 2.05], 0.1), lambda c: c.assertNDArrayNear([1, 2], [1, 3], 0.1)),
        (
            lambda c: c.assertShapeEqual(np.zeros((2, 3)), tf.zeros([2, 3])),
            lambda c: c.assertShapeEqual(np.zeros((2, 3)), tf.zeros([3, 2])),
        ),
        (lambda c: c.assertDTypeEqual(np.float32([1]), "float32"), lambda c: c.assertDTypeEqual(tf.constant(1), tf.int64)),
        (lambda c: c.assertAllGreater([2, 3], 1), lambda c: c.assertAllGreater([2, 1], 1)),
        (lambda c: c.assertAllLess([0], 1), lambda c: c.assertAllLess([1], 1)),
        (lambda c: c.assertAllGreaterEqual([2, 1], 1), lambda c: c.assertAllGreaterEqual([0], 1)),
        (lambda c: c.assertAllLessEqual([0, 1], 1), lambda c: c.assertAllLessEqual([2], 1)),
        (lambda c: c.assertAllInSet([1, 2], {1, 2}), lambda c: c.assertAllInSet([3], {1, 2})),
        (
            lambda c: c.assertAllInRange([1, 2], 1, 2),
            lambda c: c.assertAllInRange([1, 2], 1, 2, open_upper_bound=True),
        ),
        (lambda c: c.assertStartsWith("abc", "ab"), lambda c: c.assertStartsWith("abc", "b")),
        (
            lambda c: c.assertProtoEquals("name: 'a' op: 'B'", tf.NodeDef(name="a", op="B")),
            lambda c: c.assertProtoEquals("name: 'a'", tf.NodeDef(name="a", op="B")),
        ),
    ],
)  # fmt: skip
def test_comparisons(good: Any, bad: Any) -> None:
    assert passes(good)
    assert not passes(bad)


def test_errors_are_compared() -> None:
    def body(case: Any) -> None:
        with case.cached_session():
            with case.assertRaisesOpError("no number"):
                tf.check_numerics(np.nan, "no number").eval()
            with case.assertRaisesWithPredicateMatch(ValueError, lambda error: "x" in str(error)):
                raise ValueError("x")
            with pytest.raises(case.failureException, match="not raised"), case.assertRaisesOpError(""):
                pass
            with pytest.raises(case.failureException), case.assertRaisesOpError("other words"):
                tf.check_numerics(np.nan, "no number").eval()

    assert passes(body)


def test_a_loader_takes_no_session_for_a_test() -> None:
    case = type("Case", (tf.test.TestCase,), {"test": lambda self: None})
    result = unittest.TestResult()
    unittest.TestLoader().loadTestsFromTestCase(case).run(result)
    assert (result.testsRun, len(result.skipped), result.wasSuccessful()) == (2, 1, True)


def test_what_tests_ask_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not tf.test.is_built_with_cuda() and not tf.test.is_gpu_available() and tf.test.gpu_device_name() == ""
    monkeypatch.setenv("TEST_TMPDIR", "somewhere")
    assert tf.test.get_temp_dir() == "somewhere"
    assert tf.test.test_src_dir_path("data/x").endswith("data/x")
    assert tf.test.mock.Mock is unittest.mock.Mock
    with tf.Graph().as_default() as graph:
        tf.constant(1, name="a")
    with tf.Graph().as_default() as other:
        tf.constant(2, name="a")
    tf.test.assert_equal_graph_def(graph.as_graph_def(), graph.as_graph_def())
    with pytest.raises(AssertionError, match="1 nodes, the first a"):
        tf.test.assert_equal_graph_def(graph.as_graph_def(), other.as_graph_def())


def test_slopes_are_compared_with_differences() -> None:
    with tf.Graph().as_default(), tf.Session():
        x, w = tf.placeholder(tf.float64, [2, 3]), tf.Variable(np.arange(6.0).reshape(3, 2))
        y = tf.matmul(tf.square(x), w)
        start = np.linspace(-1, 1, 6).reshape(2, 3)
        exact, near = tf.test.compute_gradient(x, [2, 3], y, [2, 2], start, init_targets=[w.initializer])
        assert exact.shape == near.shape == (6, 4)
        np.testing.assert_allclose(exact, near, atol=1e-6)
        assert exact[1, 1] == pytest.approx(2 * start[0, 1] * 3)
        assert tf.test.compute_gradient_error([x, w.value()], [[2, 3], [3, 2]], y, [2, 2]) < 1e-6
        wrong = tf.stop_gradient(x) + x * 2
        assert tf.test.compute_gradient_error(x, [2, 3], wrong, [2, 3]) == pytest.approx(1, abs=1e-6)
        with pytest.raises(ValueError, match="has no gradient"):
            tf.test.compute_gradient(x, [2, 3], tf.stop_gradient(x), [2, 3])
        unused = tf.placeholder(tf.float32, [1])
    with pytest.raises(ValueError, match="default session"):
        tf.test.compute_gradient(unused, [1], unused * 2, [1])


@pytest.mark.timeout(60)
def test_a_local_cluster() -> None:
    workers, servers = tf.test.create_local_cluster(num_workers=1, num_ps=1)
    try:
        with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
            v = tf.Variable(3.0)
        with tf.Session(workers[0].target, v.graph) as session:
            session.run(v.initializer)
            assert session.run(v) == 3
    finally:
        for server in (*workers, *servers):
            server.close()


def test_the_failure_of_a_checked_thread_is_one_of_the_test() -> None:
    def body(case: Any, wanted: int, joins: bool = True) -> None:
        with case.session() as session:
            thread = case.checkedThread(lambda x: case.assertEqual(session.run(x), wanted), args=[tf.constant(3)])
            thread.start()
            if joins:
                thread.join()
                assert not thread.is_alive()

    assert passes(lambda case: body(case, 3))
    assert not passes(lambda case: body(case, 4))
    assert "not joined" in outcome(lambda case: body(case, 3, joins=False)).failures[0][1]


def test_slopes_of_rows_and_of_no_elements() -> None:
    def body(case: Any) -> None:
        with case.session():
            table = tf.constant(np.arange(6.0).reshape(3, 2), name="table")
            rows = tf.gather(table, [0, 2, 0])
            case.assertLess(tf.test.compute_gradient_error(table, [3, 2], rows, [3, 2]), 1e-6)
            empty = tf.constant(np.zeros((0, 2)), name="empty")
            computed, measured = tf.test.compute_gradient(empty, [0, 2], tf.square(empty), [0, 2])
            case.assertEqual((computed.shape, measured.shape), ((0, 0), (0, 0)))

    assert passes(body)


def test_a_case_where_ops_run_at_once_has_values_and_no_session() -> None:
    def body(case: Any) -> None:
        assert tf.executing_eagerly()
        sparse = tf.SparseTensor([[1]], [3.0], [2])
        assert case.evaluate({"a": tf.constant(1), "b": [lambda: 2]}) == {"a": 1, "b": [2]}
        assert isinstance(case.evaluate(sparse), tf.SparseTensorValue)
        case.assertAllEqual(tf.constant([1, 2]) * 2, [2, 4])
        for opened in (case.session(), case.cached_session(), case.test_session()):
            with opened as session:
                assert session is None
        with tf.Graph().as_default(), case.session() as session:
            assert session.run(tf.constant(1)) == 1

    with tf.Graph().as_default(), af.eager():
        assert passes(body)


@pytest.mark.parametrize(
    ("former", "arguments"),
    [
        ("assertItemsEqual", ([1, 2], [2, 1])),
        ("assertEquals", (1, 1)),
        ("assertNotEquals", (1, 2)),
        ("assertAlmostEquals", (1.0, 1.0)),
        ("assertNotAlmostEquals", (1.0, 2.0)),
        ("assertRegexpMatches", ("text", "t.x")),
        ("assertNotRegexpMatches", ("text", "y")),
        ("assertRaisesRegexp", (ValueError, "invalid literal", int, "x")),
        ("assert_", (True,)),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_assertions_have_their_former_names(former: str, arguments: tuple[Any, ...]) -> None:
    getattr(tf.test.TestCase(), former)(*arguments)


def test_a_test_may_reset_the_default_graph_before_its_set_up() -> None:
    class Case(tf.test.TestCase):
        def setUp(self) -> None:
            tf.reset_default_graph()
            super().setUp()

        def test_one(self) -> None:
            tf.constant(1, name="one")

        def test_two(self) -> None:
            assert not tf.get_default_graph().get_operations()
            assert tf.get_default_graph().seed is not None

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert result.wasSuccessful(), result.errors


ASSERTIONS = {
    "assertLen": (([1, 2], 2), ([1, 2], 3)),
    "assertEmpty": (([],), ([1],)),
    "assertNotEmpty": (([1],), ([],)),
    "assertContainsSubset": (([1], [1, 2]), ([3], [1, 2])),
    "assertNoCommonElements": (([1], [2]), ([1], [1, 2])),
    "assertSameElements": (([1, 2, 2], [2, 1]), ([1, 2], [1, 3])),
    "assertSequenceStartsWith": (([1], [1, 2]), ([2], [1, 2])),
    "assertContainsSubsequence": (([1, 2, 3], [1, 3]), ([1, 2, 3], [3, 1])),
    "assertContainsExactSubsequence": (([1, 2, 3], [2, 3]), ([1, 2, 3], [1, 3])),
    "assertContainsInOrder": ((["a", "c"], "abc"), (["c", "a"], "abc")),
    "assertTotallyOrdered": (([1, 1], [2], [3]), ([1], [2], [2])),
    "assertSameStructure": (({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}), ({"a": [1, {"b": 2}]}, {"a": [1, {"c": 2}]})),
    "assertJsonEqual": (('{"a": [1]}', '{"a":[1]}'), ("[1]", "[2]")),
    "assertBetween": ((2, 1, 2), (3, 1, 2)),
    "assertEndsWith": (("model.ckpt", ".ckpt"), ("model.ckpt", ".pb")),
    "assertRegexMatch": (("abc", ["x", "b"]), ("abc", ["x"])),
    "assertRaisesWithLiteralMatch": (
        (ValueError, "invalid literal for int() with base 10: 'x'", int, "x"),
        (ValueError, "invalid", int, "x"),
    ),
}


@pytest.mark.parametrize("name", ASSERTIONS)
def test_an_assertion_of_absl_passes_and_fails(name: str) -> None:
    """As TensorFlow's test cases are derived from absl's, programs use these too."""
    good, bad = ASSERTIONS[name]
    assert passes(lambda case: getattr(case, name)(*good))
    assert not passes(lambda case: getattr(case, name)(*bad))


def test_a_difference_of_structures_is_told_with_its_place() -> None:
    failure = outcome(lambda case: case.assertSameStructure({"a": [1, 2]}, {"a": [1, 3]})).failures[0][1]
    assert "a['a'][1]" in failure and "b['a'][1]" in failure


def test_a_test_makes_files_and_folders_in_a_folder_of_its_own() -> None:
    paths: list[Path] = []

    def body(case: Any) -> None:
        paths.extend([case.create_tempdir("d"), case.create_tempfile("e/f", "text"), case.create_tempfile()])
        assert paths[0].is_dir() and paths[1].read_text() == "text" and paths[2].read_bytes() == b""

    assert passes(body)
    assert not any(path.exists() for path in paths)
