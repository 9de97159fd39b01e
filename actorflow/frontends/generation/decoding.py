"""`Decoding`: the graph of a step that reads some tokens of some requests, and chooses the next token of each."""

from __future__ import annotations

import math
from dataclasses import replace

from actorflow.base.dtypes import DTypeLike, float32, int32, int64
from actorflow.errors import InvalidArgumentError
from actorflow.frontends.generation.description import Description
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import constant, placeholder, placeholder_with_default, zeros, zeros_like
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.shape import expand_dims
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.math.logic import equal, where_v2
from actorflow.graph.ops.random.sampling import sample_tokens
from actorflow.graph.ops.state.paged import paged_attention
from actorflow.graph.ops.state.scatter import scatter_update_target
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.variable import Variable
from actorflow.public import public


@public("af.generation")
class Decoding:
    """The inputs and caches of a step, in the graph that is built now.

    Its `tokens` [tokens] are of several requests, and `places` [tokens] says where in its request each is. A model turns them
    into rows [tokens, units] as it does in training, but attends by `attention`. It gives the logits of the `last` rows to
    `choose`.

    Example:
        >>> decoding = af.generation.Decoding(context=32, vocabulary=5, block_size=8, blocks=16)
        >>> heads = af.reshape(af.one_hot(decoding.tokens, 8), [-1, 2, 4])
        >>> rows = af.reshape(decoding.attention(heads, heads, heads), [-1, 8])
        >>> tokens = decoding.choose(decoding.last(rows)[:, :5])
        >>> await af.generation.save(session, "models/echo/1", decoding)

    Args:
        context: the most tokens of a request: its prompt and its answer.
        vocabulary: how many tokens there are.
        block_size: tokens of a block.
        blocks: blocks of the pool; `Model(blocks=...)` may say otherwise.
    """

    def __init__(self, context: int, vocabulary: int, *, block_size: int = 16, blocks: int = 256) -> None:
        self.description = Description(context, block_size, blocks, vocabulary)
        if min(context, vocabulary, block_size, blocks) < 1:
            raise InvalidArgumentError(f"The sizes of a decoding are at least 1: {self.description}.")
        self.tokens: Tensor = placeholder(int32, [None], name="tokens")
        """The tokens that a step reads."""
        self.places: Tensor = placeholder(int32, [None], name="places")
        """The place of each in its request, from 0."""
        self.inputs: dict[str, Tensor] = {"tokens": self.tokens, "places": self.places}
        """All inputs of a step by name. Those of requests have a row for each request of the step."""
        shapes = {"owners": (int32, [None]), "tables": (int32, [None, None]), "ends": (int32, [None])}
        rules = {"temperature": float32, "top_k": int32, "top_p": float32, "seed": int64, "chosen": int64}
        for name, (dtype, shape) in (shapes | {name: (dtype, [None]) for name, dtype in rules.items()}).items():
            self.inputs[name] = placeholder(dtype, shape, name=name)
        self.blocks: Tensor = placeholder_with_default(constant(blocks, int32), [], name="blocks")
        """The number of blocks, from which the caches are made."""
        self.caches: list[Variable] = []
        """The variables that the steps write."""
        self.chosen: Tensor | None = None
        """The token that was chosen for each request, [requests]."""
        self._writes: list[Operation] = []

    def _cache(self, rows: Tensor, sizes: list[int], dtype: DTypeLike) -> Variable:
        cache = Variable(
            zeros([rows, *sizes], dtype),
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            validate_shape=False,
            name="cache",
        )
        self.caches.append(cache)
        return cache

    def attention(self, query: Tensor, key: Tensor, value: Tensor, *, scale: float | None = None) -> Tensor:
        """The values that each query attends to: those of its request up to itself. Keys and values are kept for later steps.

        Example:
            >>> decoding = af.generation.Decoding(context=32, vocabulary=5)
            >>> heads = af.reshape(af.one_hot(decoding.tokens, 8), [-1, 2, 4])
            >>> decoding.attention(heads, heads, heads).shape.as_list(), session.graph is heads.graph
            ([None, 2, 4], True)

        Args:
            query: [tokens, heads, size], float32.
            key: [tokens, heads of keys, size]; each serves as many heads of the query.
            value: the same.
            scale: multiplies the products; `size ** -0.5` unless given.

        Returns:
            [tokens, heads, size].

        Raises:
            InvalidArgumentError: the sizes of heads are not known.
        """
        sizes = [int(size) for size in key.shape.as_list()[1:] if size is not None]
        if len(sizes) != 2 or len(key.shape.as_list()) != 3:
            raise InvalidArgumentError(
                f"Keys are [tokens, heads, size] with known heads and size, but are {key.shape}."
            )
        slots = self.blocks * self.description.block_size
        keys, values = (self._cache(slots, sizes, key.dtype) for _ in range(2))
        return paged_attention(
            keys,
            values,
            query,
            key,
            value,
            self.inputs["tables"],
            self.inputs["owners"],
            self.places,
            block_size=self.description.block_size,
            scale=1 / math.sqrt(sizes[1]) if scale is None else scale,
        )

    def state(self, size: int, dtype: DTypeLike = float32) -> tuple[Tensor, Variable]:
        """A recurrent state: its rows [tokens, size] before this step, zeros for new requests, and the variable to `keep` it in.
        A model with such states reads one token of a request in a step.

        Example:
            >>> decoding = af.generation.Decoding(context=32, vocabulary=5)
            >>> before, variable = decoding.state(8)
            >>> decoding.keep(variable, af.tanh(before + af.one_hot(decoding.tokens, 8)))
            >>> await session.run(af.local_variables_initializer())

        Args:
            size: the numbers of a row.
            dtype: their type.
        """
        self.description = replace(self.description, by_one=True)
        variable = self._cache(self.blocks, [size], dtype)
        rows = gather(variable, self._homes())
        begins = expand_dims(equal(self.places, 0), 1)
        return where_v2(begins, zeros_like(rows), rows), variable

    def keep(self, variable: Variable, rows: Tensor) -> None:
        """Makes rows [tokens, size] the state of their requests.

        Args:
            variable: the variable that `state` gave.
            rows: the state after this step.
        """
        self._writes.append(scatter_update_target(variable, self._homes(), rows))

    def _homes(self) -> Tensor:
        """The first block of the request of each token, which no other has."""
        return gather(self.inputs["tables"][:, 0], self.inputs["owners"])

    def last(self, rows: Tensor) -> Tensor:
        """Of rows [tokens, ...] those of the last token of each request, [requests, ...].

        Args:
            rows: a row for each token.
        """
        return gather(rows, self.inputs["ends"])

    def choose(self, logits: Tensor) -> Tensor:
        """The next token of each request, by the rules of the request.

        Args:
            logits: [requests, vocabulary].

        Returns:
            int32, [requests].
        """
        inputs = self.inputs
        with get_default_graph().control_dependencies(self._writes):
            logits = identity(logits)
        tokens = sample_tokens(
            logits, inputs["temperature"], inputs["top_k"], inputs["top_p"], inputs["seed"], inputs["chosen"]
        )
        self.chosen = identity(tokens, name="chosen_tokens")
        return self.chosen
