"""`GradientTape`: remembers what is computed, so that gradients can be taken afterwards (`tf.GradientTape`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar

from actorflow.base import nest
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import is_static
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.eager.scope import graph_for_values
from actorflow.engine.eager.tapes import recording as tapes
from actorflow.engine.eager.tapes.backward import backward
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.errors import describe
from actorflow.graph.autodiff.gradients import gradients
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.array.one_hot import one_hot
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.variable import Variable
from actorflow.public import public


@public("af")
class UnconnectedGradients:
    """The stand-in for the gradient of a source on which nothing depends: `NONE`, or zeros of its shape, `ZERO`.

    Example:
        >>> v, w = af.Variable(3.0), af.Variable(1.0)
        >>> with af.GradientTape(persistent=True) as tape:
        ...     y = v * v
        >>> tape.gradient(y, w)
        >>> tape.gradient(y, w, unconnected_gradients=af.UnconnectedGradients.ZERO)
        0.0
    """

    NONE: ClassVar[str] = "none"
    ZERO: ClassVar[str] = "zero"


@public("af")
class GradientTape:
    """A block in which what is computed is remembered, so that gradients can be taken of it (`tf.GradientTape`).

    Trainable variables are watched when they are read, other tensors by `watch`. A tape inside of another one gives
    gradients of gradients: the outer one takes in what the inner one's `gradient` computes. In graphs, and in functions that are
    traced, it gives what `af.gradients` gives.

    Example:
        >>> v = af.Variable(3.0)
        >>> with af.GradientTape() as tape:
        ...     y = v * v
        >>> tape.gradient(y, v)
        6.0
        >>> x = af.constant([1.0, 2.0])
        >>> with af.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x ** 3
        >>> tape.gradient(y, x)
        [ 3. 12.]

    Args:
        persistent: whether `gradient` may be called more than once. Its records stay until it is dropped.
        watch_accessed_variables: whether trainable variables are watched when they are read.
    """

    __reduce_ex__ = unpicklable("A tape is not pickled: it holds what this process computed. Hand over the gradients.")

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_variables = watch_accessed_variables
        self._tape: tapes.RecordingTape | None = None
        self._watched: dict[int, Any] = {}
        self._recording = False
        self._begin = 0

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        if self._recording:
            raise ValueError(
                describe(
                    "Tape is still recording: the block of a tape can't be entered a second time.", where=user_line()
                )
            )
        if self._tape is None:
            self._tape = tapes.RecordingTape(self._watch_variables)
            self._watched = self._tape.variables
            graph = get_default_graph()
            self._begin = 0 if graph.eager else len(graph)
        tapes.push(self._tape)
        self._recording = True

    def _stop(self) -> None:
        assert self._tape is not None
        tapes.pop(self._tape)
        self._recording = False

    # Recording

    def watch(self, tensor: Any) -> None:
        """Remembers what is computed from a tensor or variable, or from each in a nested structure, from now on.

        Example:
            >>> x = af.constant(3.0)
            >>> with af.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.gradient(y, x)
            6.0

        Raises ValueError for what is neither, and RuntimeError outside of the tape's block.
        """
        if not self._recording or self._tape is None:
            raise RuntimeError(describe("A tape can only watch inside of its block.", where=user_line()))
        for each in nest.flatten(tensor):
            if isinstance(each, Variable):
                handle = each.watched_handle
                self._tape.watch(handle)
                self._tape.variables.setdefault(id(handle), each)
            elif isinstance(each, Tensor):
                self._tape.watch(each)
            else:
                raise ValueError(
                    describe(
                        f"Passed in object of type {type(each).__name__}, not a tensor or variable: {each!r:.60}.",
                        where=user_line(),
                        hint="Make it a tensor first: x = af.constant(...).",
                    )
                )

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables that are watched, in the order of their first reads.

        Example:
            >>> v = af.Variable(1.0, name="v")
            >>> with af.GradientTape() as tape:
            ...     y = v * 2.0
            >>> [variable.name for variable in tape.watched_variables()]
            ['v:0']
        """
        graph = get_default_graph()
        if graph.takes_values and self._watch_variables:
            return tuple(v for v in graph.variables_used() if v.trainable)  # type: ignore[attr-defined]
        return tuple(self._watched.values())

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A block inside of the tape's that it does not remember. Raises RuntimeError outside.

        Example:
            >>> v = af.Variable(3.0)
            >>> with af.GradientTape() as tape:
            ...     y = v * v
            ...     with tape.stop_recording():
            ...         print(tape.gradient(y, v))
            actorflow.Tensor(6.0, shape=(), dtype=float32)
        """
        if self._tape is None or not self._recording:
            raise RuntimeError(describe("The tape does not record here, so it can't stop.", where=user_line()))
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forgets everything, as if the block began here.

        Example:
            >>> v = af.Variable(3.0)
            >>> with af.GradientTape() as tape:
            ...     y = v * v
            ...     tape.reset()
            ...     z = v * 2.0
            >>> tape.gradient(z, v)
            2.0
        """
        if self._recording:
            self._stop()
            self._tape = None
            self._start()
        else:
            self._tape = None

    # Gradients

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: str = UnconnectedGradients.NONE,
    ) -> Any:
        """The derivatives of the sum of `target` with respect to `sources`.

        Example:
            >>> v = af.Variable(3.0)
            >>> with af.GradientTape() as tape:
            ...     y = {"square": v * v}
            >>> tape.gradient(y["square"], {"v": v})
            {'v': 6.0}

        Args:
            target: a tensor, or a nested structure of them.
            sources: watched tensors and variables, in any structure.
            output_gradients: weights of the targets, of their shapes; 1 unless given.
            unconnected_gradients: a member of `UnconnectedGradients`.

        Returns:
            A gradient for each source, in their structure: a tensor, `IndexedSlices` where only rows were gathered, or None.

        Raises:
            RuntimeError: the tape has given gradients already, and is not persistent; or it has recorded nothing.
            TypeError: `target` is nothing that was computed.
            ValueError: a source is no tensor or variable, or the value of `unconnected_gradients` is unknown.
            LookupError: an op on the way has no gradient.
        """
        if unconnected_gradients not in (UnconnectedGradients.NONE, UnconnectedGradients.ZERO):
            raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}.")
        tape = self._use()
        targets = [_target(t) for t in nest.flatten(target)]
        flat = nest.flatten(sources)
        seeds = None if output_gradients is None else nest.flatten(output_gradients)
        slopes = self._gradients(tape, targets, flat, seeds)
        if unconnected_gradients == UnconnectedGradients.ZERO:
            slopes = [zeros_like(s) if g is None else g for g, s in zip(slopes, flat)]
        if not self._persistent:
            self._tape = None
        return nest.pack_sequence_as(sources, slopes)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivative of each element of `target` with respect to each element of `sources`.

        Example:
            >>> x = af.constant([1.0, 2.0])
            >>> with af.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.jacobian(y, x)
            [[2. 0.]
             [0. 4.]]

        Args:
            target: a tensor whose shape is known.
            sources: watched tensors and variables, in any structure.
            unconnected_gradients: a member of `UnconnectedGradients`.
            parallel_iterations, experimental_use_pfor: accepted for compatibility, without effect.

        Returns:
            For each source a tensor of the shape of `target`, followed by that of the source; or None.

        Raises:
            RuntimeError, TypeError, ValueError, LookupError: see `gradient`.
        """
        tape = self._use()
        output = _target(target)
        flat = nest.flatten(sources)
        sizes = _known(output)
        rows = [self._gradients(tape, [output], flat, [w]) for w in _weights(sizes, 1, output)]
        jacobians: list[Any] = []
        for index, source in enumerate(flat):
            column = [row[index] for row in rows]
            if any(gradient is None for gradient in column):
                jacobians.append(None)
                if unconnected_gradients == UnconnectedGradients.ZERO:
                    jacobians[-1] = stack([zeros_like(source)] * len(rows))
            else:
                jacobians.append(stack([convert_to_tensor(gradient) for gradient in column]))
            if jacobians[-1] is not None:
                jacobians[-1] = reshape(jacobians[-1], [*sizes, *_known(convert_to_tensor(source))])
        if not self._persistent:
            self._tape = None
        return nest.pack_sequence_as(sources, jacobians)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each example of a batch by itself: where row i of `target` depends on row i of `source` alone.

        Example:
            >>> x = af.constant([[1.0, 2.0], [3.0, 4.0]])
            >>> with af.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.batch_jacobian(y, x)
            [[[2. 0.]
              [0. 4.]]
             [[6. 0.]
              [0. 8.]]]

        Args:
            target: a tensor of shape [batch, ...].
            source: a watched tensor of shape [batch, ...].
            unconnected_gradients: a member of `UnconnectedGradients`.
            parallel_iterations, experimental_use_pfor: accepted for compatibility, without effect.

        Returns:
            A tensor [batch, the rest of target's shape, the rest of source's shape], or None.

        Raises:
            ValueError: the batches differ in size.
            RuntimeError, TypeError, LookupError: see `gradient`.
        """
        tape = self._use()
        output = _target(target)
        sizes, widths = _known(output), _known(convert_to_tensor(source))
        if not sizes or not widths or sizes[0] != widths[0]:
            raise ValueError(f"Need first dimension of target shape {sizes} and source shape {widths} to match.")
        columns: list[Any] = [
            self._gradients(tape, [output], [source], [w])[0] for w in _weights(sizes[1:], sizes[0], output)
        ]
        if not self._persistent:
            self._tape = None
        if any(column is None for column in columns):
            if unconnected_gradients == UnconnectedGradients.NONE:
                return None
            columns = [zeros_like(source)] * len(columns)
        return reshape(stack([convert_to_tensor(c) for c in columns], axis=1), [*sizes, *widths[1:]])

    def _use(self) -> tapes.RecordingTape:
        """The records of which gradients are taken now."""
        if self._tape is None:
            raise RuntimeError(
                describe(
                    "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians), after "
                    "its block has recorded something.",
                    where=user_line(),
                    hint="For several, make it with af.GradientTape(persistent=True).",
                )
            )
        tape = self._tape
        if self._recording and not self._persistent:
            self._stop()
        return tape

    def _gradients(
        self, tape: tapes.RecordingTape, targets: Sequence[Tensor], sources: Sequence[Any], seeds: Sequence[Any] | None
    ) -> list[Any]:
        graph = graph_for_values() if all(isinstance(t, EagerTensor) for t in targets) else targets[0].graph
        owners = [_owner(source) for source in sources]
        if not graph.eager:
            return self._in_graph(tape, graph, targets, owners, seeds)
        watched = [owner for owner in owners if id(owner) in tape.watched]
        by_source = dict(zip(map(id, watched), backward(tape.operations, targets, seeds, watched)))
        return [by_source.get(id(owner)) for owner in owners]

    def _in_graph(
        self, tape: tapes.RecordingTape, graph: Any, targets: Sequence[Tensor], owners: Sequence[Tensor], seeds: Any
    ) -> list[Any]:
        """Gradients of tensors of a graph; None for a source that is neither watched nor computed within the block."""
        inside = set(list(graph.nodes)[self._begin :])
        xs = [graph.capture(x) if isinstance(x, EagerTensor) else x for x in owners]
        places = [
            i
            for i, x in enumerate(xs)
            if id(owners[i]) in tape.watched or x.op.name in inside or x.dtype.is_ref and self._watch_variables
        ]
        slopes: list[Any] = [None] * len(xs)
        ys = [y for y in targets if y.graph is graph]
        if places and ys:
            for i, gradient in zip(places, gradients(ys, [xs[i] for i in places], seeds)):
                slopes[i] = gradient
        return slopes


def _target(value: Any) -> Tensor:
    if isinstance(value, (Operation, type(None))) or not is_symbolic(value):
        raise TypeError(
            describe(
                "Argument `target` should be a list or nested structure of tensors or variables to be differentiated, but "
                f"received {value!r:.60}.",
                where=user_line(),
            )
        )
    return convert_to_tensor(value)


def _owner(source: Any) -> Tensor:
    """The tensor whose gradient is meant: for a variable its handle."""
    if isinstance(source, Variable):
        return source.watched_handle
    if not isinstance(source, Tensor):
        raise ValueError(
            describe(
                f"Passed in object {source!r:.60} of type {type(source).__name__!r}, not a tensor or variable.",
                where=user_line(),
            )
        )
    return source


def _known(tensor: Tensor) -> list[int]:
    if not is_static(tensor.static_shape):
        raise ValueError(describe(f"The shape of {tensor.name} has to be known for a Jacobian.", where=user_line()))
    return [int(size) for size in tensor.static_shape or () if size is not None]


def _weights(sizes: Sequence[int], batch: int, like: Tensor) -> Iterator[Tensor]:
    """For each element of a shape a tensor like `like` that is one there and zero elsewhere, for all examples of a batch."""
    count = 1
    for size in sizes:
        count *= size
    for number in range(count):
        row = one_hot([number] * batch, count, dtype=like.dtype)
        yield reshape(row, _known(like))
