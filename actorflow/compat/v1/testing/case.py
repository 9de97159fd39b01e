"""`tf.test.TestCase`: a graph of its own and fixed seeds for each test, and sessions."""

from __future__ import annotations

import functools
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from actorflow.base.nest import map_structure
from actorflow.compat.v1.options import ConfigProto
from actorflow.compat.v1.sessions import Session, get_default_session
from actorflow.compat.v1.testing.comparisons import Comparisons
from actorflow.compat.v1.testing.threads import CheckedThread
from actorflow.engine.eager.scope import executing_eagerly
from actorflow.graph.default_graph import reset_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.random.distributions import DEFAULT_GRAPH_SEED, set_random_seed
from actorflow.graph.scopes import entered_graph
from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from actorflow.public import public


@public("tf.test")
class TestCase(Comparisons):
    """`tf.test.TestCase`: a graph of its own and fixed seeds for each test, sessions, and comparisons of arrays.

    Example:
        >>> import unittest
        >>> import actorflow.compat.v1 as tf
        >>> class SquareTest(tf.test.TestCase):
        ...     def test_square(self):
        ...         with self.test_session():
        ...             self.assertAllClose(tf.square([2.0, 3.0]).eval(), [4.0, 9.0])
        >>> result = unittest.TestResult()
        >>> _ = SquareTest("test_square").run(result)
        >>> result.testsRun, result.wasSuccessful()
        (1, True)
    """

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._folder: str | None = None
        self._cached: Session | None = None
        self._threads: list[CheckedThread] = []

    def setUp(self) -> None:
        """Makes a default graph with a fixed seed, and seeds the generators of Python and numpy. A program that runs ops at once
        keeps doing so, with that seed."""
        super().setUp()
        random.seed(DEFAULT_GRAPH_SEED)
        np.random.seed(DEFAULT_GRAPH_SEED)
        if executing_eagerly():
            set_random_seed(DEFAULT_GRAPH_SEED)
            return
        if entered_graph() is None:
            reset_default_graph()
        else:
            self.enterContext(Graph().as_default())
        set_random_seed(DEFAULT_GRAPH_SEED)

    def tearDown(self) -> None:
        """Ends the session of `cached_session` and `test_session`. Fails if a checked thread was not joined."""
        if left := [thread for thread in self._threads if not thread.joined]:
            self.fail(f"{len(left)} checked threads of the test were not joined.")
        if self._cached is not None:
            self._cached.close()
            self._cached = None
        super().tearDown()

    def get_temp_dir(self) -> str:
        """A folder of this test's own, which goes with it.

        Example:
            >>> import os
            >>> import actorflow.compat.v1 as tf
            >>> class Case(tf.test.TestCase):
            ...     def runTest(self):
            ...         print(os.path.isdir(self.get_temp_dir()))
            >>> _ = Case().run()
            True
        """
        if self._folder is None:
            self._folder = self.enterContext(tempfile.TemporaryDirectory())
        return self._folder

    @contextmanager
    def session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Any]:
        """A session for the block, which is the default one there, and so is its graph. None where ops run at once.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> class Case(tf.test.TestCase):
            ...     def runTest(self):
            ...         with self.session() as sess:
            ...             print(sess.run(tf.constant(3.0) * 2.0))
            >>> _ = Case().run()
            6.0

        Args:
            graph: the graph; the default one unless given.
            config: the session's options.
            use_gpu, force_gpu: accepted for compatibility: nodes are placed as in any session.
        """
        if executing_eagerly() and graph is None:
            yield None
            return
        with Session(graph=graph, config=config) as session:
            yield session

    @contextmanager
    def cached_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Any]:
        """As `session`, but all blocks of a test share a session, which ends with the test.

        Args:
            graph, config, use_gpu, force_gpu: as those of `session`; later blocks name the same values.
        """
        if executing_eagerly() and graph is None:
            yield None
            return
        if self._cached is None:
            self._cached = Session(graph=graph, config=config)
        elif graph is not None and graph is not self._cached.graph:
            raise ValueError(
                "The graph used to get the cached session is different than the one that was used to make it."
            )
        with self._cached.graph.as_default(), self._cached.as_default():
            yield self._cached

    def test_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> AbstractContextManager[Any]:
        """`cached_session` without a graph, `session` with a graph.

        Args:
            graph, config, use_gpu, force_gpu: as those of `session`.
        """
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")  # the name makes it a test to those who look for tests
        opener = self.cached_session if graph is None else self.session
        return opener(graph, config, use_gpu, force_gpu)

    def checkedThread(
        self, target: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> CheckedThread:
        """A thread, not started yet, whose failure is one of the test: `join` raises it.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> class Case(tf.test.TestCase):
            ...     def runTest(self):
            ...         thread = self.checkedThread(print, args=["done"])
            ...         thread.start()
            ...         thread.join()
            >>> _ = Case().run()
            done

        Args:
            target: what the thread calls.
            args, kwargs: with these arguments.
        """
        thread = CheckedThread(self, functools.partial(target, *args, **(kwargs or {})))
        self._threads.append(thread)
        return thread

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, in any structure, in the default session or the cached session.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> class Case(tf.test.TestCase):
            ...     def runTest(self):
            ...         with self.session():
            ...             print(self.evaluate(tf.constant(3.0) * 2.0))
            >>> _ = Case().run()
            6.0
        """
        if executing_eagerly():
            return map_structure(_value, tensors)
        session = get_default_session() or self._cached
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as cached:
            return cached.run(tensors)


_FORMER = {
    "assertItemsEqual": "assertCountEqual",
    "assertEquals": "assertEqual",
    "assertNotEquals": "assertNotEqual",
    "assertAlmostEquals": "assertAlmostEqual",
    "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assertRegexpMatches": "assertRegex",
    "assertNotRegexpMatches": "assertNotRegex",
    "assertRaisesRegexp": "assertRaisesRegex",
    "assert_": "assertTrue",
}
"""Names of assertions that Python has dropped since the tests of TensorFlow 1's programs were written, with their names now."""

for _former, _name in _FORMER.items():
    if not hasattr(TestCase, _former):
        setattr(TestCase, _former, getattr(TestCase, _name))


def _value(leaf: Any) -> Any:
    """The value of a leaf where ops run at once."""
    if isinstance(leaf, SparseTensor):
        return SparseTensorValue(*(_value(part) for part in (leaf.indices, leaf.values, leaf.dense_shape)))
    return leaf.numpy() if hasattr(leaf, "numpy") else leaf() if callable(leaf) else leaf
