"""`tf.test.Benchmark`, which times operations, and `tf.test.StubOutForTesting`, which replaces attributes for a while."""

from __future__ import annotations

import inspect
import json
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.public import public


@public("tf.test")
def benchmark_config() -> Any:
    """A `ConfigProto` for a session that is timed.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> type(tf.test.benchmark_config()).__name__
        'ConfigProto'
    """
    from actorflow.compat.v1 import options

    return options.ConfigProto()


@public("tf.test")
class Benchmark:
    """A class whose methods `benchmark...` time operations (`tf.test.Benchmark`).

    A report is a line on the standard output, and a file if the environment has `TEST_REPORT_FILE_PREFIX`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     result = tf.test.Benchmark().run_op_benchmark(session, tf.constant(1.0) + 1.0, min_iters=3)
        entry {...}
        >>> result["iters"]
        3
    """

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether it has no method of its own that times something."""
        return not any(name.startswith("benchmark") and callable(each) for name, each in inspect.getmembers(cls))

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, of the default session or under eager execution."""
        from actorflow.compat.v1.sessions import get_default_session

        session = get_default_session()
        return af.nest.map_structure(lambda each: each.numpy(), tensors) if session is None else session.run(tensors)

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, Any] | None = None,
        name: str | None = None,
        metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Writes a report.

        Args:
            iters: how often the operation ran.
            cpu_time, wall_time: seconds a run.
            throughput: megabytes a second.
            extras: further values, texts or numbers.
            name: of the report; class and method unless given.
            metrics: further measures, each with `name` and `value`.
        """
        facts = {
            "name": name or f"{type(self).__name__}.{inspect.stack()[1].function}",
            "iters": iters,
            "cpu_time": cpu_time,
            "wall_time": wall_time,
            "throughput": throughput,
            "extras": dict(extras or {}),
            "metrics": list(metrics or []),
        }
        text = json.dumps({key: value for key, value in facts.items() if value not in (None, {}, [])}, default=str)
        print(f"entry {text}")
        if prefix := os.environ.get("TEST_REPORT_FILE_PREFIX"):
            with open(prefix + str(facts["name"]).replace("/", "__"), "w", encoding="utf-8") as file:
                file.write(text)

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: Mapping[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Times an operation, reports the median, and gives it as `wall_time` with `iters`, `throughput`, `extras`, `name`.

        Args:
            sess: the session.
            op_or_tensor: what is run; values are not fetched.
            feed_dict: values of placeholders.
            burn_iters: runs before the first that counts.
            min_iters: runs that count.
            store_trace, store_memory_usage: traces are not kept; `actorflow trace` writes a trace.
            name: of the report.
            extras: further values of the report.
            mbs: the megabytes that a run reads and writes.
        """
        target = getattr(op_or_tensor, "op", op_or_tensor)
        for _ in range(burn_iters):
            sess.run(target, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(target, feed_dict)
            times.append(time.perf_counter() - start)
        median = statistics.median(times) if times else -1.0
        facts: dict[str, Any] = {"iters": min_iters, "wall_time": median, "extras": dict(extras or {})}
        facts |= {"name": name or f"{type(self).__name__}.run_op_benchmark", "throughput": mbs / median if mbs else 0.0}
        self.report_benchmark(**facts)
        return facts


@public("tf.test")
class StubOutForTesting:
    """Replaces attributes of objects, and puts the former values back (`tf.test.StubOutForTesting`).

    Example:
        >>> import os
        >>> import actorflow.compat.v1 as tf
        >>> with tf.test.StubOutForTesting() as stubs:
        ...     stubs.Set(os, "sep", "|")
        ...     os.sep
        '|'
        >>> os.sep
        '/'
    """

    def __init__(self) -> None:
        self._former: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *exception: object) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Puts all former values back."""
        for parent, name, value in reversed(self._former):
            setattr(parent, name, value)
        self._former.clear()

    UnsetAll = SmartUnsetAll = CleanUp

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Gives the attribute `child_name` of `parent` another value. Raises AttributeError for what is not there.

        Args:
            parent: the object.
            child_name: the name of the attribute.
            new_child: the new value.
        """
        former = getattr(parent, child_name)
        if isinstance(parent, type) and isinstance(vars(parent).get(child_name), staticmethod):
            former = staticmethod(former)
        self._former.append((parent, child_name, former))
        setattr(parent, child_name, new_child)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """`Set` where the attribute is declared: in a class of the object's, or in the object itself.

        Raises AttributeError for an attribute that is not there.

        Args:
            obj: the object.
            attr_name: the name of the attribute.
            new_attr: the new value.
        """
        owners = inspect.getmro(obj if isinstance(obj, type) else type(obj))
        owner = obj if attr_name in vars(obj) else next((each for each in owners if attr_name in vars(each)), obj)
        former = vars(owner).get(attr_name)
        if former is None:
            raise AttributeError(f"{obj!r} has no attribute {attr_name!r}.")
        self._former.append((owner, attr_name, former))
        setattr(owner, attr_name, new_attr)
