"""`EagerVariable`: a variable that is an object of the program, and is collected when no one holds it."""

from __future__ import annotations

import copy
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike
from actorflow.base.reports import markup
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, ShapeLike, as_shape, compatible, merge, show
from actorflow.engine.eager.functions.func_graph import FuncGraph
from actorflow.engine.eager.graph import GRAPH, wait_for_writers
from actorflow.engine.eager.operation import EagerOperation
from actorflow.engine.eager.scope import eager_handle_graph, graph_for_values, init_scope
from actorflow.engine.eager.tapes import recording as tapes
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.errors import InvalidArgumentError, describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.node import NO_ATTRS
from actorflow.graph.ops.flow.control import no_op
from actorflow.graph.ops.state import variable as state
from actorflow.graph.overloads import Overloads
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.graph.variables.assignments import VariableSlice
from actorflow.graph.variables.variable import Variable, variables_of

_numbers = itertools.count()
_waiting: list[weakref.WeakMethod[Callable[[EagerVariable], None]]] = []
_owners: weakref.WeakKeyDictionary[VariableState, weakref.ref[EagerVariable]] = weakref.WeakKeyDictionary()


class EagerVariable(Variable):
    """The variable that `af.Variable(...)` makes when ops run at once: it has its initial value from the start.

        with af.eager():
            w = af.Variable([1.0, 2.0])
            w.assign_add(w * 2.0)
            print(w.numpy())

    It is in no collection, names need not differ, and its memory is free when no one holds it any more. A function that
    `af.function` traces uses it, too; other graphs can't. It is for one thread at a time: threads that share it take a lock.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike = None,
        import_scope: str | None = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: ShapeLike = None,
    ) -> None:
        """See `Variable`.

        Args:
            initial_value: a tensor, a value that becomes a tensor, or a function without arguments that gives either.
            trainable: tapes watch it when it is read.
            validate_shape: the shape of the initial value is the variable's forever. If not, assignments may change it.
            name: `Variable` unless given.
            dtype: the initial value is converted to it.
            expected_shape, shape: what the shape has to be.
            constraint: a function that optimizers apply to the value after each update.
            collections, caching_device, variable_def, import_scope: accepted, without effect.
            use_resource, synchronization, aggregation: accepted, without effect.

        Raises:
            ValueError: there is no initial value, it has another shape than `shape`, or a function that is traced again makes
                another variable.
        """
        if initial_value is None:
            raise ValueError(describe("initial_value must be specified.", where=user_line()))
        inside: Any = get_default_graph()
        if inside.takes_values:
            initial_value = inside.lifted(initial_value)
        with init_scope():
            value = convert_to_tensor(initial_value() if callable(initial_value) else initial_value, dtype, graph=GRAPH)
            shape_here = _shape_of(value, validate_shape, expected_shape if shape is None else shape)
            self._name = name or "Variable"
            kind = value.dtype.base_dtype
            self._state = VariableState(self._name.rstrip("/"), kind, shape_here, GRAPH.devices()[0].allocator)
            self._state.assign(value.numpy())  # type: ignore[attr-defined]
        self._handle = EagerTensor(self._state, kind.ref)
        attrs = {"shape": shape_here, "dtype": kind, "container": "", "shared_name": f"eager_{next(_numbers)}"}
        self._handle._operation = EagerOperation("VariableV2", attrs, (), (), self._state.name)
        _owners[self._state] = weakref.ref(self)
        self._is_new = bool(_waiting)
        self._home: Any = None
        self.trainable = trainable
        self.constraint = constraint
        self._save_slice_info: Any = None
        if inside.takes_values:
            inside.made_variable(self)

    # Properties

    @property
    def handle(self) -> Tensor:  # type: ignore[override]
        """The reference that assignments take; within a function that is traced, the reference that stands for it there."""
        handle = self.watched_handle
        if handle is self._handle:
            self._check_home()
        return handle

    @property
    def watched_handle(self) -> Tensor:
        """The reference by which tapes know the variable, wherever it lives."""
        if self._is_new:
            self._settle()
        inside = eager_handle_graph()
        return self._handle if inside is None else inside.handle_of(self)

    def _check_home(self) -> None:
        """Raises RuntimeError where the variable lives on a task of a cluster, to which a function took it."""
        if self._home is not None:
            raise RuntimeError(
                describe(
                    f"The variable {self.name} lives on {self._home.target}, and can't be changed by ops here.",
                    where=user_line(),
                    hint="Change it in a function of that device, such as the whole training step, or give it another value: "
                    f"{self._state.name}.load(value).",
                )
            )

    def _settle(self) -> None:
        """Tells all that wait for new variables of this variable, before its first use."""
        self._is_new = False
        for waiting in list(_waiting):
            settle = waiting()
            if settle is None:
                _waiting.remove(waiting)
            else:
                settle(self)

    @property
    def name(self) -> str:
        return f"{self._state.name}:0"

    @property
    def unique_id(self) -> str:
        """A name that no other variable of the process has or had."""
        assert self._handle._operation is not None
        name: str = self._handle._operation._attrs["shared_name"]
        return name

    @property
    def op(self) -> Operation:
        """The operation of `handle`."""
        inside = eager_handle_graph()
        if inside is not None:
            operation: Operation = inside.handle_of(self).op
            return operation
        assert self._handle._operation is not None
        return self._handle._operation

    @property
    def graph(self) -> Graph:
        return graph_for_values()

    @property
    def device(self) -> str:
        return GRAPH.devices()[0].name

    @property
    def dtype(self) -> DType:
        return self._state.dtype

    @property
    def static_shape(self) -> Shape:
        return self._state.shape

    @property
    def initializer(self) -> Operation:
        """An operation that does nothing: the variable has had its initial value from the start."""
        return no_op()

    @property
    def initial_value(self) -> Tensor:
        """Raises RuntimeError: the initial value is not kept."""
        raise RuntimeError("initial_value not supported in EAGER mode: a variable does not keep it.")

    # Reading

    @property
    def _snapshot(self) -> Tensor:  # type: ignore[override]
        return self.read_value()

    def value(self) -> Tensor:
        """The value now."""
        return self.read_value()

    def read_value(self) -> Tensor:
        """The value now."""
        if self._is_new:
            self._settle()
        if eager_handle_graph() is not None:
            return state.read_variable(self.handle, name="read")
        if (
            self._state.writer is not None and self._home is None
        ):  # an op on a thread touches it: this is an op behind it
            return state.read_variable(self.handle, name="read")
        tensor = EagerTensor(self._state.read() if self._home is None else self._home.read(self), self._state.dtype)
        if tapes.recording():
            tapes.record(EagerOperation("ReadVariableOp", NO_ATTRS, (self._handle,), (tensor,)))
        return tensor

    def initialized_value(self) -> Tensor:
        """The value now."""
        return self.read_value()

    def numpy(self) -> Any:
        """The value now, as a read-only array or a numpy scalar. No later assignment changes it."""
        if self._is_new:
            self._settle()
        wait_for_writers((self._state,))
        value = self._state.read() if self._home is None else self._home.read(self)
        return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value

    def set_shape(self, shape: ShapeLike) -> None:
        """Raises ValueError unless the value has such a shape."""
        if not compatible(self.static_shape, as_shape(shape)):
            raise ValueError(f"The variable has shape {show(self.static_shape)}, not {show(as_shape(shape))}.")

    def load(self, value: Any, session: Any = None) -> None:
        """Assigns a value of Python, also where the variable lives on a task of a cluster."""
        self._put(convert_to_tensor(value, self.dtype, graph=GRAPH).numpy())  # type: ignore[attr-defined]

    def _put(self, value: Any) -> None:
        """Assigns a value of the right type where the variable lives. Blocks."""
        if self._home is None:
            wait_for_writers((self._state,))
            self._state.assign(value)
        else:
            self._home.assign(value)

    def __deepcopy__(self, memo: dict[int, Any]) -> EagerVariable:
        """Another variable of this process with the same value, also where this one lives on a task of a cluster."""
        with GRAPH.as_default():
            clone = EagerVariable(
                self.numpy(),
                self.trainable,
                name=self._state.name,
                dtype=self.dtype,
                constraint=copy.deepcopy(self.constraint, memo),
            )
        memo[id(self)] = clone
        return clone

    def eval(self, session: Any = None, feed_dict: Any = None) -> Any:
        """Raises NotImplementedError: there is no session in it; `numpy()` gives the value."""
        raise NotImplementedError("eval is not supported when eager execution is enabled: numpy() gives the value.")

    # As a value of Python

    def __getitem__(self, key: Any) -> Tensor:
        part = Overloads.__getitem__(self, key)
        if isinstance(part, EagerTensor):
            piece = EagerSlice(part, self, key)
            if tapes.recording():
                tapes.record(EagerOperation("Identity", NO_ATTRS, (part,), (piece,)))
            return piece
        return VariableSlice.of(part, self.handle) if part.op.type == "StridedSlice" else part

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __complex__(self) -> complex:
        return complex(self.numpy())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value(), digits)

    def __index__(self) -> int:
        value: int = np.asarray(self.numpy()).__index__()
        return value

    def __len__(self) -> int:
        return len(self.numpy())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = np.asarray(self.numpy(), dtype=dtype)
        return array.copy() if copy else array

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec) if spec else str(self)

    def __repr__(self) -> str:
        return f"<actorflow.Variable {self.name!r} shape={show(self.static_shape)} dtype={self.dtype}, numpy={self.numpy()!r}>"

    def _repr_html_(self) -> str:
        facts = {"type": self.dtype, "shape": show(self.static_shape), "trainable": self.trainable}
        return markup.card(f"Variable {self.name}", facts, markup.text(str(self.numpy())))


class EagerSlice(EagerTensor):
    """The value of a part of a variable, as it was. `assign` sets that part of the variable."""

    __slots__ = ("_key", "_variable")

    def __init__(self, part: EagerTensor, variable: EagerVariable, key: Any) -> None:
        super().__init__(part._value, part._dtype)
        self._operation = part._operation
        self._variable = variable
        self._key = key

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Sets the part to `value`, which broadcasts to it.

        Args:
            value: the new value of the part.
            use_locking, name: accepted for compatibility, without effect.
            read_value: whether to return the whole variable's value then as a tensor, instead of the bare operation.

        Raises:
            InvalidArgumentError: the value does not fit.
        """
        key = tuple(_plain(k) for k in self._key) if isinstance(self._key, tuple) else _plain(self._key)
        whole = np.array(self._variable.numpy())
        tensor = convert_to_tensor(value, self._dtype, graph=GRAPH)
        try:
            whole[key] = tensor.numpy()  # type: ignore[attr-defined]
        except ValueError as error:
            raise InvalidArgumentError(str(error)) from None
        return self._variable.assign(whole, read_value=read_value)


def _plain(key: Any) -> Any:
    """A part of an index as numpy takes it."""
    if isinstance(key, slice):
        return slice(*(None if k is None else int(k) for k in (key.start, key.stop, key.step)))
    return key if key is None or key is Ellipsis else np.asarray(key)[()]


def when_used(method: weakref.WeakMethod[Callable[[EagerVariable], None]]) -> None:
    """Has a method called, as long as its object lives, with each variable that is made from now on, when it is first used."""
    _waiting.append(method)


def variable_of(handle: Tensor) -> EagerVariable | None:
    """The variable to which a handle refers, if an eager program made the variable."""
    held = getattr(handle, "_value", None)
    variable = _owners.get(held) if isinstance(held, VariableState) else None
    return None if variable is None else variable()


def _shape_of(value: Tensor, validate: bool, expected: ShapeLike) -> Shape:
    if not validate:
        return as_shape(expected)
    try:
        return merge(value.static_shape, as_shape(expected))
    except ValueError:
        raise ValueError(
            describe(
                f"initial_value has shape {show(value.static_shape)}, but expected_shape is {show(as_shape(expected))}.",
                where=user_line(),
            )
        ) from None


variables_of(type(GRAPH), EagerVariable)
variables_of(FuncGraph, EagerVariable)
