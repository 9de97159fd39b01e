"""`Variable`: a tensor that is kept between runs and changed by assignments (paper section 2; `tf.Variable`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from actorflow.base.dtypes import DType, DTypeLike
from actorflow.base.reports import markup
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, ShapeLike, TensorShape, as_shape, is_static, merge, show
from actorflow.errors import describe, with_topic
from actorflow.graph import scopes
from actorflow.graph.control_flow.variable_reads import read_here
from actorflow.graph.convert import convert_to_tensor, graph_of, read_reference, register_tensor_conversion_function
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.gather import gather, gather_nd
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.state import scatter as state_sparse
from actorflow.graph.ops.state import variable as state
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.graph.variables.assignments import Assignments, VariableSlice
from actorflow.graph.variables.collections import GraphKeys, add_to_collections
from actorflow.graph.variables.creators import Created
from actorflow.graph.variables.dependencies import with_initialized_variables
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.graph.graphdef.protos import VariableDef


@public("af")
class Variable(Assignments, metaclass=Created):
    """A reference to a tensor of fixed type (and shape) that outlives runs, with the value that it starts with.

    When an op wants a tensor, a variable stands for a *read* of it: a snapshot that no later assignment changes. All
    uses outside `control_dependencies` share one read, so they see one value in a run; a use inside reads again, after
    what the block waits for. Assignments are atomic, in whatever order they come; only control dependencies, or
    `read_value=True`, tell which of them a read sees.

    Before a run reads it, `initializer` has to run, most simply by `global_variables_initializer()`.

    Example:
        >>> total = af.Variable(0.0)
        >>> add = total.assign_add(af.placeholder_with_default(1.0, []))
        >>> await session.run(total.initializer)
        >>> await session.run(add), await session.run(add)
        (1.0, 2.0)
        >>> await session.run(total)
        2.0
    """

    __array_priority__ = 100
    _kind = "variable"
    _by_creators = True

    def __new__(cls, initial_value: Any = None, *args: Any, **kwargs: Any) -> Variable:
        """A variable of the kind that the graph of `initial_value` has, else the default graph."""
        if cls is Variable and _kinds and (kind := _kinds.get(type(graph_of([initial_value])))) is not None:
            return object.__new__(kind)
        return object.__new__(cls)

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: str | Callable[[Operation], str | None] | None = None,
        name: str | None = None,
        variable_def: VariableDef | None = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike = None,
        import_scope: str | None = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: ShapeLike = None,
    ) -> None:
        """Adds a variable to the graph of `initial_value` (else the default graph).

        Args:
            initial_value: a tensor, a value that becomes a constant, or a function without arguments that gives either.
                If it is computed from other variables, these are taken at their initial values if they have none.
            trainable: optimizers change it, unless they are told which variables to change.
            collections: those that list it; GLOBAL_VARIABLES unless given.
            validate_shape: the shape of the initial value, which has to be known, is the variable's forever. If not,
                assignments may change it.
            caching_device: a device that keeps a copy of the value read, for its consumers.
            name: `Variable` unless given; made unique.
            dtype: the initial value is converted to it.
            expected_shape: what the shape has to be.
            constraint: a function that optimizers apply to the value after each update.
            use_resource, synchronization: change nothing; each variable is read as a snapshot.
            aggregation: how replicas of `tf.distribute` join their updates; kept as it is.
            shape: the same as `expected_shape`, under the name of later versions.
            variable_def: the names of the tensors of a variable that the default graph has already, as an import made them; all
                else is left out then.
            import_scope: what the import put before the names.

        Raises:
            ValueError: no initial value, or a value of unknown shape with `validate_shape`.
            TypeError: the value has no such type.
        """
        if variable_def is not None:
            self._find(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError(describe("initial_value must be specified.", where=user_line()))
        if constraint is not None and not callable(constraint):
            raise ValueError(describe("The `constraint` argument must be a callable.", where=user_line()))
        graph = graph_of([initial_value])
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope(name or "Variable") as scope:
            before = len(graph)
            self._initial_value = _initial_tensor(graph, initial_value, dtype)
            resolved = self._checked_shape(validate_shape, expected_shape if shape is None else shape)
            self.handle: Tensor = state.variable_handle(
                shape=resolved,
                dtype=self._initial_value.dtype.base_dtype,
                container=scopes.of(graph).container,
                name=scope,
            )
            """The reference, of a `ref` type, that assignments take."""
            _bring_to(self.handle, self._initial_value, before)
            self._starting = with_initialized_variables(self._initial_value)
            self._initializer = state.assign_target(self.handle, self._starting, name="Assign")
            self._snapshot = state.read_variable(self.handle, name="read")
            if caching_device is not None:
                with graph.device(caching_device):
                    self._snapshot = identity(self._snapshot, name="cached")
        self.trainable = trainable
        self.aggregation = aggregation
        self.constraint = constraint
        self._save_slice_info: Any = None
        chosen = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in chosen:
            chosen.append(GraphKeys.TRAINABLE_VARIABLES)
        with graph.as_default():
            add_to_collections(chosen, self)

    def _find(self, message: VariableDef, import_scope: str | None) -> None:
        """Takes a variable of the default graph by the names of its tensors. Raises UnknownNameError for missing tensors."""
        graph = get_default_graph()
        prefix = f"{import_scope.removesuffix('/')}/" if import_scope else ""
        self.handle = graph.get_tensor_by_name(prefix + message.variable_name)
        initializer = graph.get_operation_by_name(prefix + message.initializer_name.partition(":")[0])
        snapshot = graph.get_tensor_by_name(prefix + message.snapshot_name) if message.snapshot_name else self.handle
        self._snapshot = read_reference(self.handle) if snapshot is self.handle else snapshot
        initial = message.initial_value_name
        self._initial_value = graph.get_tensor_by_name(prefix + initial) if initial else initializer.inputs[1]
        self._starting, self._initializer = initializer.inputs[1], initializer
        trainable = any(message.variable_name == v.name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
        self.trainable, self.constraint = message.trainable or trainable, None
        self._save_slice_info = None
        if message.HasField("save_slice_info_def"):
            from actorflow.graph.variables.partitioned import SaveSliceInfo

            info = message.save_slice_info_def
            sizes = (tuple(info.full_shape), tuple(info.var_offset), tuple(info.var_shape))
            self._save_slice_info = SaveSliceInfo(prefix + info.full_name, *sizes)

    @staticmethod
    def from_proto(variable_def: VariableDef, import_scope: str | None = None) -> Variable:
        """A variable of the default graph by the names of its tensors; it is not added to collections.

        Raises UnknownNameError where the graph has no such tensors.

        Example:
            >>> with af.Graph().as_default():
            ...     v = af.Variable(1.0, name="v")
            ...     print(af.Variable.from_proto(v.to_proto()).name)
            v:0
        """
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def to_proto(self, export_scope: None = None) -> VariableDef:
        """The names of the variable's tensors as a message, for `from_proto`.

        Example:
            >>> with af.Graph().as_default():
            ...     print(af.Variable(1.0, name="v").to_proto().variable_name)
            v:0
        """
        from actorflow.graph.graphdef.protos import SaveSliceInfoDef, VariableDef

        info = self._save_slice_info
        part = {} if info is None else {"save_slice_info_def": SaveSliceInfoDef(**asdict(info))}
        return VariableDef(
            variable_name=self.name,
            initializer_name=self._initializer.name,
            snapshot_name=self._snapshot.name,
            initial_value_name=self._initial_value.name,
            trainable=self.trainable,
            is_resource=True,
            **part,
        )

    def _checked_shape(self, validate: bool, expected: ShapeLike) -> Shape:
        if not validate:
            return as_shape(expected)
        shape = self._initial_value.static_shape
        facts = {"node": self._initial_value.op.name, "where": user_line()}
        if not is_static(shape):
            raise ValueError(
                describe(
                    f"initial_value must have a shape specified: {self._initial_value!r}.",
                    **facts,  # type: ignore[arg-type]
                    hint="Give it one with set_shape, or make the variable with validate_shape=False.",
                )
            )
        try:
            return merge(shape, as_shape(expected))
        except ValueError:
            raise ValueError(
                describe(
                    f"initial_value has shape {show(shape)}, but expected_shape is {show(as_shape(expected))}.",
                    **facts,  # type: ignore[arg-type]
                )
            ) from None

    # Properties

    @property
    def name(self) -> str:
        """The name of the reference, `v:0`."""
        return self.handle.name

    @property
    def watched_handle(self) -> Tensor:
        """The reference by which tapes know the variable: `handle`."""
        return self.handle

    @property
    def op(self) -> Operation:
        return self.handle.op

    @property
    def graph(self) -> Graph:
        return self.handle.graph

    @property
    def device(self) -> str:
        return self.handle.device

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.handle.dtype.base_dtype

    @property
    def static_shape(self) -> Shape:
        """The static shape as a plain tuple."""
        return self.handle.static_shape

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.static_shape)

    def get_shape(self) -> TensorShape:
        """The static shape, as `shape` gives it.

        Example:
            >>> af.Variable(np.zeros([2, 3])).get_shape()
            TensorShape([2, 3])
        """
        return self.shape

    @property
    def initializer(self) -> Operation:
        """The operation that assigns the initial value."""
        return self._initializer

    @property
    def initial_value(self) -> Tensor:
        """The tensor of the initial value. It is computed again in each run, so a random one differs."""
        return self._initial_value

    def ref(self) -> Tensor:
        """The reference to the variable, which ops that change it take; they take the variable itself as well.

        Example:
            >>> v = af.Variable(1.0)
            >>> af.assign(v.ref(), 2.0).dtype
            actorflow.float32
        """
        return self.handle

    # Reading

    def value(self) -> Tensor:
        """The tensor of a use: the shared read, or under control dependencies a new read.

        Example:
            >>> with af.Graph().as_default():
            ...     v = af.Variable(1.0)
            ...     print(v.value() is v.value())
            True
        """
        return read_here(self.handle, self._snapshot)

    def read_value(self) -> Tensor:
        """A new read, under the control dependencies in force here.

        Example:
            >>> v = af.Variable(1.0)
            >>> with af.control_dependencies([v.assign_add(1.0)]):
            ...     after = v.read_value()
            >>> await session.run(v.initializer)
            >>> await session.run(after)
            2.0
        """
        return state.read_variable(self.handle, name="read")

    def begin_with(self, value: Tensor, initializer: Operation) -> None:
        """Replaces the initial value, and the operation that assigns it, for runs and nodes that are made from now on.

        Example:
            >>> v = af.Variable(0.0)
            >>> v.begin_with(af.constant(5.0), v.assign(5.0, read_value=False))
            >>> await session.run(v.initializer)
            >>> await session.run(v)
            5.0
        """
        self._initial_value = self._starting = value
        self._initializer = initializer

    def initialized_value(self) -> Tensor:
        """The value, or the initial one while there is none: for the initial value of another variable.

        Example:
            >>> v = af.Variable(3.0)
            >>> w = af.Variable(v.initialized_value() * 2.0)
            >>> await session.run(af.global_variables_initializer())
            >>> await session.run(w)
            6.0
        """
        with self.graph.control_dependencies(None):
            return state_sparse.read_variable_or(self.handle, self._starting, name="initialized_value")

    def eval(self, session: Any = None, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """`session.run(self, feed_dict)` with a blocking session (TensorFlow 1's shorthand).

        Example:
            >>> with af.Graph().as_default(), af.blocking.Session() as blocking:
            ...     v = af.Variable(3.0)
            ...     blocking.run(v.initializer)
            ...     print(v.eval(blocking))
            3.0
        """
        return self._snapshot.eval(feed_dict, session)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The rows at `indices`, an integer tensor; the same as `af.gather`.

        Example:
            >>> v = af.Variable([[1.0, 2.0], [3.0, 4.0]])
            >>> v.sparse_read([1])
            [[3. 4.]]
        """
        return gather(self, indices, name=name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The elements or slices at full indices; the same as `af.gather_nd`.

        Example:
            >>> v = af.Variable([[1.0, 2.0], [3.0, 4.0]])
            >>> v.gather_nd([[1, 0]])
            [3.]
        """
        return gather_nd(self, indices, name=name)

    def set_shape(self, shape: ShapeLike) -> None:
        """Adds to what is known of the shape of all reads. Raises ValueError for a contradiction.

        Example:
            >>> with af.Graph().as_default():
            ...     v = af.Variable(af.placeholder_with_default(np.zeros([2, 3]), None), validate_shape=False)
            ...     v.set_shape([None, 3])
            ...     print(v.shape)
            (?, 3)
        """
        self.handle.set_shape(shape)
        self._snapshot.set_shape(shape)

    # Writing, beside `Assignments`

    def load(self, value: Any, session: Any = None) -> None:
        """Assigns a value of Python through a blocking session, the innermost one unless given, without adding to the graph.

        Example:
            >>> with af.Graph().as_default(), af.blocking.Session() as blocking:
            ...     v = af.Variable([0.0, 0.0])
            ...     v.load([1.0, 2.0], blocking)
            ...     print(blocking.run(v))
            [1. 2.]
        """
        self._initializer.run({self._initializer.inputs[1]: value}, session)

    # As a slice of a larger variable

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        """Says which part of what larger variable this is in a checkpoint; None: it is one of its own."""
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    # As a tensor

    def __getitem__(self, key: Any) -> Tensor:
        """A part of the value; what it gives for integers, slices, `...` and None has a method `assign`."""
        part = super().__getitem__(key)
        return VariableSlice.of(part, self.handle) if part.op.type == "StridedSlice" else part

    def _as_graph_element(self) -> Tensor:
        """The tensor that is fetched for the variable."""
        return self._snapshot

    def __iter__(self) -> Iterator[Any]:
        self._refuse(with_topic("is not iterable; af.unstack(x) gives its rows as tensors.", "tensor-as-list"))

    def __len__(self) -> int:
        self._refuse("has no len(); use its shape[0].")

    def __repr__(self) -> str:
        return f"<actorflow.Variable {self.name!r} shape={show(self.static_shape)} dtype={self.dtype}>"

    def _repr_html_(self) -> str:
        where = self.op.where
        facts = {"type": self.dtype, "shape": show(self.static_shape), "trainable": self.trainable}
        facts |= {"device": self.device} if self.device else {}
        return markup.card(f"Variable {self.name}", facts, markup.text(f"{where}  {where.source()}") if where else "")


_kinds: dict[type[Graph], type[Variable]] = {}


def variables_of(graph: type[Graph], kind: type[Variable]) -> None:
    """Says what `Variable(...)` makes in graphs of a class of its own."""
    _kinds[graph] = kind


def _initial_tensor(graph: Graph, value: Any, dtype: DTypeLike | None) -> Tensor:
    if not callable(value):
        tensor = convert_to_tensor(value, dtype, name="initial_value", graph=graph)
        if (flow := graph.flow_of(tensor.op.name)) is not None:
            raise ValueError(
                describe(
                    f"The initial value {tensor.name} is from inside a control-flow construct: it is inside of {flow}.",
                    where=user_line(),
                    hint="Give a function as the initial value of a variable that is made inside a loop or a branch.",
                )
            )
        return tensor
    with graph.name_scope("Initializer"), graph.device(None), scopes.changed(graph, tower=None):
        return convert_to_tensor(value(), dtype, name="initial_value", graph=graph)


def _bring_to(handle: Tensor, value: Tensor, before: int) -> None:
    """Has the initial value computed in the task of its variable, so that a large value does not travel. This moves nodes
    that were made just now (after the first `before` nodes) and that have no device."""
    task = DeviceSpec.parse(handle.device).task_of()
    if task != DeviceSpec():
        for operation in handle.graph.get_operations()[before:]:
            if not operation.device or operation is value.op and operation.type == "Const":
                handle.graph.set_device(operation, str(task))


def _read(variable: Variable, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    return variable.value()


register_tensor_conversion_function(Variable, _read)
