"""`Options` of datasets: TensorFlow's settings of its own threads and passes, which are kept and have no effect here."""

from __future__ import annotations

from typing import Any, ClassVar

from actorflow.public import public

__all__ = ["DistributeOptions", "MapVectorizationOptions", "OptimizationOptions", "StatsOptions", "ThreadingOptions"]


class Settings:
    """Settings by name. Raises AttributeError for a name that there is not, and TypeError for a value of another type."""

    NAMES: ClassVar[dict[str, type]] = {}

    def __init__(self) -> None:
        object.__setattr__(self, "_values", {})

    def __getattr__(self, name: str) -> Any:
        kind = self.NAMES.get(name)
        if kind is None:
            raise AttributeError(f"{type(self).__name__} has no setting {name!r}; it has: {', '.join(self.NAMES)}.")
        if issubclass(kind, Settings):
            return self._values.setdefault(name, kind())
        return self._values.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self.NAMES.get(name)
        if kind is None:
            raise AttributeError(
                f"Cannot set the property {name} on {type(self).__name__}; it has: {', '.join(self.NAMES)}."
            )
        if value is not None and kind is not object and not isinstance(value, kind):
            raise TypeError(f"The property {name} is a {kind.__name__}, but {value!r:.60} is a {type(value).__name__}.")
        self._values[name] = value

    def merge(self, other: Any) -> Any:
        """These settings with those of other settings, which go first.

        Example:
            >>> options = af.data.experimental.OptimizationOptions()
            >>> options.map_fusion = True
            >>> af.data.experimental.OptimizationOptions().merge(options).map_fusion
            True

        Args:
            other: settings of the same class.
        """
        joined = type(self)()
        joined._values.update(self._values)
        for name, value in other._values.items():
            before = joined._values.get(name)
            joined._values[name] = before.merge(value) if isinstance(before, Settings) else value
        return joined

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]


class MapVectorizationOptions(Settings):
    """How functions of maps are vectorized."""

    NAMES: ClassVar[dict[str, type]] = {"enabled": bool, "use_choose_fastest": bool}


class OptimizationOptions(Settings):
    """Which rewrites of pipelines are made."""

    NAMES: ClassVar[dict[str, type]] = {
        **dict.fromkeys(
            ("apply_default_optimizations", "autotune", "autotune_buffers", "filter_fusion", "hoist_random_uniform"),
            bool,
        ),
        **dict.fromkeys(
            ("map_and_batch_fusion", "map_and_filter_fusion", "map_fusion", "map_parallelization", "noop_elimination"),
            bool,
        ),
        **dict.fromkeys(("parallel_batch", "filter_with_random_uniform_fusion", "shuffle_and_repeat_fusion"), bool),
        "autotune_cpu_budget": int,
        "map_vectorization": MapVectorizationOptions,
    }


class ThreadingOptions(Settings):
    """How many threads there are."""

    NAMES: ClassVar[dict[str, type]] = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


class StatsOptions(Settings):
    """Which statistics are kept; `iterator.statistics()` has those of actorflow."""

    NAMES: ClassVar[dict[str, type]] = {
        "aggregator": object,
        "prefix": str,
        "counter_prefix": str,
        "latency_all_edges": bool,
    }


class DistributeOptions(Settings):
    """How a dataset is divided among workers; `shard` does that here."""

    NAMES: ClassVar[dict[str, type]] = {
        "auto_shard": bool, "auto_shard_policy": object, "num_devices": int, "make_stateless": bool,
    }  # fmt: skip


@public("tf.data")
class Options(Settings):
    """`tf.data.Options`: settings for `Dataset.with_options`. They are kept, and have no effect.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> options = tf.data.Options()
        >>> options.experimental_threading.private_threadpool_size = 4
        >>> options.experimental_deterministic = False
        >>> [x async for x in af.data.Dataset.range(2).with_options(options)]
        [0, 1]
    """

    NAMES: ClassVar[dict[str, type]] = {
        "experimental_deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_slack": bool,
        "experimental_stats": StatsOptions,
        "experimental_stateful_whitelist": object,
        "experimental_threading": ThreadingOptions,
        "experimental_external_state_policy": object,
        "deterministic": bool,
        "threading": ThreadingOptions,
        "autotune": object,
    }


def merged(before: Any, after: Any) -> Any:
    """Options with later options, which go first. Either may be None."""
    return after if before is None else before if after is None else before.merge(after)
