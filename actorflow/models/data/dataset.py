"""`Dataset`: an immutable description of where elements come from and what is done with them (`tf.data.Dataset`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.dtypes import int64, string
from actorflow.base.reports.logs import get_logger
from actorflow.base.reports.user_line import user_line
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.graph.ops.flow.py_func import PythonFunction
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import equal, where
from actorflow.graph.ops.random.distributions import get_seed
from actorflow.graph.tensor import Tensor
from actorflow.models.data import padding
from actorflow.models.data.functions.tracing import trace
from actorflow.models.data.iteration import Iterable
from actorflow.models.data.node import DatasetNode, known_integer, parameter
from actorflow.models.data.sources import Sources, is_coroutine_function
from actorflow.models.data.spec import DatasetSpec, Spec, batched, dense_leaves, most_specific, tensor_leaves
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.models.data.experimental.options import Options

_LOG = get_logger("data")
AUTOTUNE = -1
public("af.data", of="AUTOTUNE")
DEFAULT_CYCLE = 10
"""How many datasets `interleave` goes through at once unless told: a fixed number, so that the order is that of all machines."""


@public("af.data")
class Dataset(Sources, Iterable):
    """A description of elements: their source, and the stages that they go through (`tf.data.Dataset`).

    It holds nothing but the description, and each method gives another dataset. It is run by `async for`, by `for` under
    `af.eager()`, or by an iterator in a graph (`make_one_shot_iterator`).

    Functions are called once, with tensors, and become compiled plans. Coroutine functions are called for each element.

    Example:
        >>> numbers = af.data.Dataset.from_tensor_slices([1, 2, 3, 4, 5])
        >>> [batch async for batch in numbers.map(lambda x: x * 10).batch(2).prefetch(1)]
        [[10 20], [30 40], [50]]
    """

    __slots__ = ("node",)

    def __init__(self, node: DatasetNode) -> None:
        """Made by its static methods, such as `Dataset.range(10)`.

        Args:
            node: the last stage of the description.

        Raises:
            TypeError: something else is given.
        """
        if not isinstance(node, DatasetNode):
            raise TypeError("A Dataset is made by one of its methods, such as Dataset.from_tensor_slices(values).")
        self.node = node

    def __repr__(self) -> str:
        return f"<Dataset of {self.node.kind}: {self.node.spec!r}>"

    def _then(self, kind: str, spec: Spec | None = None, **keywords: Any) -> Dataset:
        return Dataset(DatasetNode(kind, self.node.spec if spec is None else spec, (self.node,), **keywords))

    # Functions of elements

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
        output_signature: Any = None,
    ) -> Dataset:
        """A function of each element.

        If the function raises for an element, the pull of that element raises, and the next one comes after it.

        Example:
            >>> import anyio
            >>> numbers = af.data.Dataset.range(3)
            >>> [x async for x in numbers.map(lambda x: (x, x * x))]
            [(0, 0), (1, 1), (2, 4)]
            >>> async def fetch(x):
            ...     await anyio.sleep(0)  # such as a request
            ...     return x + 10
            >>> [x async for x in numbers.map(fetch, num_parallel_calls=32)]
            [10, 11, 12]

        Args:
            map_func: a function of tensors, or a coroutine function of arrays. It takes the parts of a tuple as arguments.
            num_parallel_calls: how many elements it is called with at once; `AUTOTUNE` for a number that is found.
            deterministic: False where results may come in another order than the elements.
            name: accepted for compatibility, without effect.
            output_signature: what a coroutine function gives, a structure of `TensorSpec`; what it gets unless given.

        Raises:
            TypeError: the function gives something else than tensors and datasets.
        """
        tensors: tuple[Any, ...] = ()
        if is_coroutine_function(map_func):
            function: Any = PythonFunction.known(map_func)
            spec = self.node.spec if output_signature is None else Spec(output_signature)
            tensor_leaves(self.node.spec)
        else:
            function, captured = trace(map_func, self.node.spec, "map")
            spec, tensors = function.spec, tuple(captured)
        if num_parallel_calls is None:
            return self._then("map", spec, tensors=tensors, function=function)
        if known_integer(limit := parameter(num_parallel_calls, int64)) == AUTOTUNE:
            limit = parameter(16, int64)
        return self._then(
            "parallel_map",
            spec,
            tensors=(limit, *tensors),
            function=function,
            options={"ordered": deterministic is not False},
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of which `predicate` is true.

        Example:
            >>> [x async for x in af.data.Dataset.range(6).filter(lambda x: af.equal(x % 3, 0))]
            [0, 3]

        Args:
            predicate: a function of tensors that gives a scalar of type bool, or a coroutine function that gives a truth value.
            name: accepted for compatibility, without effect.

        Raises:
            ValueError: it gives something else.
        """
        return self._chosen("filter", predicate)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first element of which `predicate` is not true.

        Example:
            >>> [x async for x in af.data.Dataset.range(10).take_while(lambda x: x < 3)]
            [0, 1, 2]

        Args:
            predicate: a function of tensors that gives a scalar of type bool, or a coroutine function that gives a truth value.
            name: accepted for compatibility, without effect.

        Raises:
            ValueError: it gives something else.
        """
        return self._chosen("take_while", predicate)

    def _chosen(self, kind: str, predicate: Callable[..., Any]) -> Dataset:
        """A stage that asks `predicate` which elements go on."""
        if is_coroutine_function(predicate):
            return self._then(kind, function=PythonFunction.known(predicate))
        function, captured = trace(predicate, self.node.spec, kind)
        if any(tensor.op.type == "Const" for tensor in function.outputs):
            _LOG.warning(
                "a predicate gives the same for all elements; == compares objects, and af.equal(x, y) values",
                kind=kind,
                where=str(user_line() or ""),
            )
        if function.spec.structure != TensorSpec((), bool_dtype) and function.spec.structure != TensorSpec(
            None, bool_dtype
        ):
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is "
                f"{function.spec.structure!r}."
            )
        return self._then(kind, tensors=tuple(captured), function=function)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the datasets that `map_func` makes of each element, one dataset after another.

        Example:
            >>> [x async for x in af.data.Dataset.range(4).flat_map(lambda x: af.data.Dataset.range(x))]
            [0, 0, 1, 0, 1, 2]

        Args:
            map_func: a function of tensors that gives a Dataset.
            name: accepted for compatibility, without effect.

        Raises:
            TypeError: it gives something else.
        """
        return self._interleaved(map_func, "flat_map", 1, 1, 0)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the datasets that `map_func` makes of each element, several of them in turn.

        Example:
            >>> tens = af.data.Dataset.range(0, 20, 10)
            >>> [x async for x in tens.interleave(lambda x: af.data.Dataset.range(x, x + 3), cycle_length=2)]
            [0, 10, 1, 11, 2, 12]

        Args:
            map_func: a function of tensors that gives a Dataset.
            cycle_length: how many datasets are gone through at once; 10 unless given.
            block_length: how many elements are taken of a dataset in its turn; 1 unless given.
            num_parallel_calls: where given, each of them is pulled ahead.
            deterministic, name: accepted for compatibility: the order is always the same.

        Raises:
            TypeError: it gives something else than a Dataset.
            ValueError: a length is smaller than 1.
        """
        cycle = DEFAULT_CYCLE if cycle_length in (None, AUTOTUNE) else cycle_length
        for size, what in ((cycle, "cycle_length"), (block_length, "block_length")):
            if isinstance(size, int) and size < 1:
                raise ValueError(f"`{what}` must be > 0, but it is {size}.")
        block = 1 if block_length is None else block_length
        return self._interleaved(map_func, "interleave", cycle, block, 0 if num_parallel_calls is None else 4)

    def _interleaved(self, function: Callable[..., Any], what: str, *numbers: Any) -> Dataset:
        traced, captured = trace(function, self.node.spec, what)
        if not isinstance(traced.spec.structure, DatasetSpec):
            raise TypeError(
                f"Invalid `map_func`. `map_func` must return a `Dataset` object, but it gives {traced.spec.structure!r}."
            )
        tensors = (*(parameter(number, int64) for number in numbers), *captured)
        return self._then("interleave", traced.spec.structure.spec, tensors=tensors, function=traced)

    # Several elements as a single element, and a single element as several

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements stacked: each leaf has one more dimension in front.

        Example:
            >>> [x async for x in af.data.Dataset.range(5).batch(2)]
            [[0 1], [2 3], [4]]
            >>> [x async for x in af.data.Dataset.range(5).batch(2, drop_remainder=True)]
            [[0 1], [2 3]]

        Args:
            batch_size: how many elements.
            drop_remainder: whether to leave out a last batch that is smaller.
            num_parallel_calls, deterministic, name: accepted for compatibility, without effect.

        Raises in a run:
            InvalidArgumentError: elements have different shapes, or the size is smaller than 1.
        """
        size, drop = parameter(batch_size, int64), parameter(drop_remainder, bool_dtype)
        always = known_integer(size) if not isinstance(drop, Tensor) and bool(drop) else None
        return self._then("batch", batched(self.node.spec, always), tensors=(size, drop))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Elements of different sizes stacked, filled up to the longest of the batch.

        Example:
            >>> rows = af.data.Dataset.range(1, 4).map(lambda n: af.fill([n], n))
            >>> [x async for x in rows.padded_batch(3, padding_values=-1)]
            [[[ 1 -1 -1]
              [ 2  2 -1]
              [ 3  3  3]]]

        Args:
            batch_size: how many elements.
            padded_shapes: a shape for each leaf, with None or -1 for sizes up to the longest; so for all unless given. Shapes and
                sizes may be tensors.
            padding_values: a value for each leaf, or a single value for all; 0 or "" unless given.
            drop_remainder: whether to leave out a last batch that is smaller.
            name: accepted for compatibility, without effect.

        Raises:
            ValueError: a shape has another rank, or no shape is given and a rank is not known.
            TypeError: a padding value has another type.
        """
        leaves = dense_leaves(self.node.spec, "A padded batch")
        shapes = padding.padded_shapes(self.node.spec, padded_shapes)
        values = padding.paddings(self.node.spec, padding_values)
        size, drop = parameter(batch_size, int64), parameter(drop_remainder, bool_dtype)
        always = known_integer(size) if not isinstance(drop, Tensor) and bool(drop) else None
        kinds = [padding.padded_spec(leaf, shape, always) for leaf, shape in zip(leaves, shapes)]
        spec = Spec(self.node.spec.rebuild(kinds))
        return self._then("padded_batch", spec, tensors=(size, drop, *values, *shapes))

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of each element in sequence: what `batch` did is undone.

        Example:
            >>> [x async for x in af.data.Dataset.range(4).batch(2).unbatch()]
            [0, 1, 2, 3]

        Args:
            name: accepted for compatibility, without effect.

        Raises:
            ValueError: a leaf is a scalar.
        """
        for leaf in dense_leaves(self.node.spec, "The rows"):
            if leaf.static_shape == ():
                raise ValueError("Cannot unbatch an element that has a scalar.")
        rows = [
            TensorSpec(None if leaf.static_shape is None else leaf.static_shape[1:], leaf.dtype)
            for leaf in self.node.spec.leaves
        ]
        return self._then("unbatch", Spec(self.node.spec.rebuild(rows)))

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False, name: str | None = None
    ) -> Dataset:
        """Datasets of neighbours, a dataset for each leaf of the elements.

        Example:
            >>> windows = af.data.Dataset.range(5).window(3, shift=1, drop_remainder=True)
            >>> [x async for x in windows.flat_map(lambda w: w.batch(3))]
            [[0 1 2], [1 2 3], [2 3 4]]

        Args:
            size: how many elements a window has.
            shift: how much further the next window begins; `size` unless given.
            stride: how far apart its elements are.
            drop_remainder: whether to leave out last windows that are smaller.
            name: accepted for compatibility, without effect.

        Raises in a run:
            InvalidArgumentError: a number is smaller than 1.
        """
        numbers = [parameter(number, int64) for number in (size, size if shift is None else shift, stride)]
        spec = self.node.spec.map(DatasetSpec)
        return self._then("window", spec, tensors=(*numbers, parameter(drop_remainder, bool_dtype)))

    # Which elements, and in which order

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements in random order: each is drawn of a buffer, which is filled up again.

        With equal seeds the order is TensorFlow's, and equal for equal seeds.

        Example:
            >>> [x async for x in af.data.Dataset.range(6).shuffle(6, seed=1)]
            [5, 1, 2, 0, 4, 3]

        Args:
            buffer_size: how many elements are drawn from; with as many as there are, each order is as likely.
            seed: the seed; with a seed of the graph, each stage has another seed.
            reshuffle_each_iteration: whether each iterator, and each round of `repeat`, has another order, unless it is False.
            name: accepted for compatibility, without effect.

        Raises in a run:
            InvalidArgumentError: the buffer's size is smaller than 1.
        """
        if isinstance(seed, Tensor) and not isinstance(seed, EagerTensor):
            number = cast(seed, int64)
            first: Any = get_seed(1)[0]
            second: Any = where(equal(first + number, 0), np.int64(2**31 - 1), number)
        else:
            first, second = get_seed(seed)
        again = parameter(reshuffle_each_iteration is not False, bool_dtype)
        seeds = [parameter(number, int64) for number in (buffer_size, first, second)]
        return self._then("shuffle", tensors=(*seeds, again))

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """All elements `count` times; without end for a `count` of None or below 0.

        Example:
            >>> [x async for x in af.data.Dataset.range(2).repeat(3)]
            [0, 1, 0, 1, 0, 1]

        Args:
            count: how often.
            name: accepted for compatibility, without effect.
        """
        return self._then("repeat", tensors=(parameter(-1 if count is None else count, int64),))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements; all for a negative `count`.

        Example:
            >>> [x async for x in af.data.Dataset.range(5).take(2)]
            [0, 1]

        Args:
            count: how many.
            name: accepted for compatibility, without effect.
        """
        return self._then("take", tensors=(parameter(count, int64),))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first `count` elements; none for a negative `count`.

        Example:
            >>> [x async for x in af.data.Dataset.range(5).skip(3)]
            [3, 4]

        Args:
            count: how many.
            name: accepted for compatibility, without effect.
        """
        return self._then("skip", tensors=(parameter(count, int64),))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Each `num_shards`-th element, from the element at `index` on: the part of one of several workers.

        Shard names of files before they are read, rather than records: each worker then reads its own files only.

        Example:
            >>> names = af.data.Dataset.from_tensor_slices(["a", "b", "c", "d", "e"])
            >>> [[name async for name in names.shard(2, worker)] for worker in (0, 1)]
            [[b'a', b'c', b'e'], [b'b', b'd']]

        Args:
            num_shards: how many parts.
            index: the number of the part, from 0 on.
            name: accepted for compatibility, without effect.

        Raises:
            ValueError, and InvalidArgumentError in a run: there is no such part.
        """
        if isinstance(num_shards, int) and num_shards < 1:
            raise ValueError(f"`num_shards` must be >= 1, but it is {num_shards}.")
        if isinstance(num_shards, int) and isinstance(index, int) and not 0 <= index < num_shards:
            raise ValueError(f"`index` must be in [0, {num_shards}), but it is {index}.")
        return self._then("shard", tensors=(parameter(num_shards, int64), parameter(index, int64)))

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number and an element.

        Example:
            >>> letters = af.data.Dataset.from_tensor_slices(["a", "b"])
            >>> [pair async for pair in letters.enumerate(start=1)]
            [(1, b'a'), (2, b'b')]

        Args:
            start: the first number.
            name: accepted for compatibility, without effect.
        """
        spec = Spec((TensorSpec((), int64), self.node.spec.structure))
        return self._then("enumerate", spec, tensors=(parameter(start, int64),))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements without those that have errors, such as records of which a function can make nothing.

        Example:
            >>> texts = af.data.Dataset.from_tensor_slices(["1", "two", "3"])
            >>> [x async for x in texts.map(af.string_to_number).ignore_errors()]
            [1.0, 3.0]

        Args:
            log_warning: whether a line of the log tells of each error.
            name: accepted for compatibility, without effect.
        """
        return self._then("ignore_errors", options={"log": log_warning})

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """The elements of this dataset, then those of another dataset.

        Example:
            >>> [x async for x in af.data.Dataset.range(2).concatenate(af.data.Dataset.range(10, 12))]
            [0, 1, 10, 11]

        Args:
            dataset: the other dataset.
            name: accepted for compatibility, without effect.

        Raises:
            TypeError: its elements have other types or another structure.
        """
        spec = most_specific(self.node.spec, dataset.node.spec, "the first")
        return Dataset(DatasetNode("concatenate", spec, (self.node, dataset.node)))

    # Between stages

    def prefetch(self, buffer_size: Any, name: str | None = None, max_bytes: Any = None) -> Dataset:
        """Elements pulled ahead, in a task of their own, while those before them are worked with.

        Example:
            >>> [x async for x in af.data.Dataset.range(3).prefetch(1)]
            [0, 1, 2]

        Args:
            buffer_size: how many elements at most; `AUTOTUNE` for a number that grows while someone has to wait.
            name: accepted for compatibility, without effect.
            max_bytes: how many bytes they have at most; no more is pulled once there are that many bytes.
        """
        numbers = (parameter(buffer_size, int64), parameter(-1 if max_bytes is None else max_bytes, int64))
        return self._then("prefetch", tensors=numbers)

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """The elements of the first round, kept for later rounds: in memory, or in a file.

        They are kept once a round has come to its end.

        Example:
            >>> draws = af.data.Dataset.range(2).map(lambda x: af.random_uniform([])).cache()
            >>> [float(x) async for x in draws] == [float(x) async for x in draws]
            True

        Args:
            filename: the file, which another process finds again; in memory unless given.
            name: accepted for compatibility, without effect.
        """
        return self._then("cache", tensors=(parameter(filename, string),))

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """`transformation_func(self)`.

        Example:
            >>> def pairs(dataset):
            ...     return dataset.batch(2)
            >>> [x async for x in af.data.Dataset.range(4).apply(pairs)]
            [[0 1], [2 3]]

        Args:
            transformation_func: a function from a Dataset to another Dataset.

        Raises:
            TypeError: it gives something else.
        """
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset, but it gave a {type(result).__name__}.")
        return result

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """The same elements: TensorFlow's options are of its own threads and passes. `options()` gives them again.

        Example:
            >>> [x async for x in af.data.Dataset.range(2).with_options(None)]
            [0, 1]

        Args:
            options: a `tf.data.Options`, or None.
            name: accepted for compatibility, without effect.
        """
        from actorflow.models.data.experimental.options import merged

        return Dataset(replace(self.node, settings=merged(self.node.settings, options)))

    def options(self) -> Options:
        """The options of this dataset and of the datasets that it pulls from; later options go first.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> options = tf.data.Options()
            >>> options.experimental_deterministic = False
            >>> af.data.Dataset.range(2).with_options(options).batch(2).options().experimental_deterministic
            False
        """
        from actorflow.models.data.experimental.options import Options, merged

        joined = Options()
        nodes = [self.node]
        for node in nodes:  # those farther from this dataset come later
            nodes += node.inputs
        for node in reversed(nodes):
            joined = merged(joined, node.settings)
        return joined
