"""`Dropout`: sets a part of the inputs to 0 in training (`tf.layers.Dropout`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.shapes import ShapeLike, TensorShape
from actorflow.graph.convert import is_symbolic
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.nn.layers import dropout
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.models.layers.arguments import choose, flag_of
from actorflow.models.layers.layer import Layer
from actorflow.public import public


@public("af.layers")
class Dropout(Layer):
    """In training, sets each element to 0 with probability `rate` and divides the others by 1 - rate (`tf.layers.Dropout`).

    Outside of training it gives the inputs.

    Example:
        >>> drop = af.layers.Dropout(0.4)
        >>> training = af.placeholder_with_default(False, [])
        >>> y = drop(af.ones([4]), training=training)
        >>> await session.run(y)
        [1. 1. 1. 1.]
        >>> (await session.run(y, {training: True})).max()
        1.6667
    """

    def __init__(
        self,
        rate: TensorLike = 0.5,
        noise_shape: Sequence[Any] | None = None,
        seed: int | None = None,
        name: str | None = None,
        **inherited: Any,
    ) -> None:
        """
        Args:
            rate: the probability that an element is dropped, a number or a scalar in [0, 1).
            noise_shape: the shape of the random choices: sizes of 1 drop or keep together, None stands for the input's size.
            seed: makes the choices the same in every session.
            name: the name of the scope; `dropout` unless given.
            inherited: `_scope` and `_reuse`, and other arguments of `Layer`.

        Raises:
            ValueError: `rate` is not between 0 and 1.
        """
        super().__init__(name=name, **inherited)
        if isinstance(rate, (str, bytes)) or not is_symbolic(rate) and not 0 <= rate <= 1:  # type: ignore[operator]
            raise ValueError(f"dropout: the argument `rate` is a number between 0 and 1. Received: {rate!r:.60}")
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        """`inputs`, or with `training` (a bool or a boolean scalar) what is left of them."""
        flag = flag_of(training, "dropout", "training")
        if not is_symbolic(self.rate) and self.rate == 0:
            flag = False
        output: Tensor = choose(
            flag,
            lambda: dropout(inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate),
            lambda: identity(inputs),
        )
        return output

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """That of the input.

        Example:
            >>> af.layers.Dropout(0.4).compute_output_shape([None, 3])
            TensorShape([None, 3])
        """
        return TensorShape(input_shape)
