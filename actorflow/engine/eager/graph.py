"""`EagerGraph`: a graph that runs each node as it is made, and keeps none."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry import opdef
from actorflow.base.registry.opdef import Inference, OpDef
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape
from actorflow.engine.device.base import Device
from actorflow.engine.eager.operation import EagerOperation
from actorflow.engine.eager.quiet import call_quietly
from actorflow.engine.eager.tapes import recording as tapes
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.engine.runtime.context import KernelContext
from actorflow.engine.runtime.diagnostics.faults import located, remember_inputs
from actorflow.engine.runtime.kernel_binding import bind, kernel_of
from actorflow.engine.runtime.state.resources import ResourceManager, shared_state
from actorflow.engine.session.devices import open_devices
from actorflow.errors import InvalidArgumentError, Where, describe
from actorflow.graph import scopes
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.node import NO_ATTRS, Node, TensorId
from actorflow.graph.tensor import Operation, Tensor

_NOTHING = nullcontext()
_MOST_PREPARED = 4096
_MOST_CHECKED = 256
_REFUSED = {
    "Placeholder": "placeholder() is not compatible with eager execution: pass the value itself.",
    "PlaceholderWithDefault": "placeholder_with_default() is not compatible with eager execution: pass the value itself.",
}
_WAITS = (
    "{op} is not supported when eager execution is enabled: it may wait, and this call can't. Run it in a graph, with "
    "await session.run(...)."
)
_numbers = itertools.count()


class PreparedOp:
    """An op with its attributes and the types of its inputs: the kernel that computes it, bound to them."""

    __slots__ = ("attrs", "call", "checked", "device", "may_launch", "node", "pure", "touches_variables")

    def __init__(
        self,
        definition: OpDef,
        node: Node,
        device: Device,
        types: Sequence[DType],
        shapes: Sequence[Shape],
        fresh: bool,
        graph: EagerGraph,
    ) -> None:
        entry = kernel_of(node, device, types, shapes)
        if definition.asynchronous and not op_calls_python(node.op):
            raise RuntimeError(_WAITS.format(op=node.op))
        self.node = node
        self.attrs = node.attrs
        self.device = device
        self.checked: dict[Any, tuple[Shape, ...]] = {}
        """The shapes of inputs that the op's rules have found right, and those of the outputs."""
        self.pure = not (definition.stateful or definition.has_ref_input or entry.takes_context or entry.takes_step)
        self.touches_variables = definition.has_ref_input and not definition.asynchronous
        self.may_launch = not definition.asynchronous and not any(dtype.is_ref for dtype in node.dtypes)
        """Whether it may run on a thread, while the program goes on (see `launches`)."""

        def context_of(kernel_node: Node) -> KernelContext:
            return KernelContext(kernel_node, device, ResourceManager() if fresh else graph.resources)

        self.call = bind(node, entry, device, context_of)
        if entry.takes_step:
            self.call = partial(self.call, step=Unstopped())
        if entry.is_async:
            self.call = partial(_without_waiting, node.op, self.call)


class Unstopped:
    """A step as kernels see it, which is never stopped."""

    id = 0
    at_once = True
    """A function of Python is called on the caller's thread."""

    def on_cancel(self, callback: Callable[[], None], reason: Any = None) -> Callable[[], None]:
        """Takes `callback`, which is never called."""
        return lambda: None

    def on_end(self, callback: Callable[[], object]) -> None:
        """Takes `callback`, which is never called."""

    def waits_for(self, reason: Any) -> AbstractContextManager[None]:
        """A block that says nothing."""
        return nullcontext()

    def waits(self) -> AbstractContextManager[None]:
        """A block that says nothing."""
        return nullcontext()


def op_calls_python(op: str) -> bool:
    """Whether an op calls a function of Python, which need not wait although its kernel may."""
    return op in ("PyFunc", "PyFuncStateless", "EagerPyFunc", "EagerPyFuncGrad")


def _without_waiting(op: str, kernel: Callable[..., Any], *inputs: Any) -> Any:
    """The result of an asynchronous kernel that need not wait. Raises RuntimeError if the kernel has to wait."""
    coroutine = kernel(*inputs)
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError(_WAITS.format(op=op))


class EagerNodes(Mapping[Any, Node]):
    """The nodes of an eager graph: there are none, but each tensor counts as a constant of its value."""

    def __getitem__(self, key: Any) -> Node:
        if not isinstance(key, EagerTensor):
            raise KeyError(key)
        attrs = {"value": key._value, "dtype": key._dtype}
        op = "Handle" if key._dtype.is_ref else "Const"
        return Node("eager_tensor", op, attrs=attrs, dtypes=(key._dtype,), shapes=(key.static_shape,))

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


class EagerGraph(Graph):
    """The default graph under `af.eager()`. The whole process has a single graph of this kind, `GRAPH`."""

    eager = True

    def __init__(self) -> None:
        self._prepared: dict[Any, PreparedOp] = {}
        super().__init__()
        self.nodes = EagerNodes()
        self.resources = ResourceManager()
        self._devices: list[Device] | None = None
        self._drawn = 0

    # Running

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor] = (),
        attrs: Mapping[str, Any] = NO_ATTRS,
        name: str | None = None,
        where: Where | None = None,
    ) -> Operation:
        """Runs an op.

        Args:
            op_type: the type of the operation, as it is registered, such as `MatMul`.
            inputs: tensors that have values.
            attrs: its attributes by name.
            name: what errors call it; the type unless given.
            where: the user's line for errors; the line that calls actorflow unless given.

        Raises:
            InvalidArgumentError: shapes contradict, or the kernel refuses the values.
            TypeError: an input has a wrong element type, or belongs to a graph.
            RuntimeError: the op has no meaning here, such as a placeholder.
        """
        if op_type == "Const":
            operation = EagerOperation("Const", attrs, (), (), name or "Const")
            operation._outputs = (EagerTensor(attrs["value"], attrs["dtype"]),)
            return operation
        try:
            prepared, shapes = self._prepare(op_type, inputs, attrs, name or op_type)
        except (TypeError, ValueError, RuntimeError) as error:
            raise self._told(error, op_type, inputs, name or op_type, where) from None
        queue = scopes.of(self).launches
        outputs: Any = None if queue is None else queue.launch(prepared, inputs, shapes, name or op_type, where)
        if outputs is None:
            outputs = self._run(prepared, inputs, name or op_type, where)
        operation = EagerOperation(op_type, prepared.attrs, inputs, outputs, name or op_type)
        if tapes.recording():
            tapes.record(operation)
        return operation

    def _run(
        self, prepared: PreparedOp, inputs: Sequence[Any], name: str, where: Where | None
    ) -> tuple[EagerTensor, ...]:
        values = [tensor._value for tensor in inputs]
        if not prepared.pure:
            wait_for_writers(values)
        with shared_state if prepared.touches_variables else _NOTHING:
            result = self.launch(prepared, values, name, where)
        dtypes = prepared.node.dtypes
        if len(dtypes) == 1:
            return (EagerTensor(result, dtypes[0]),)
        if dtypes:
            return tuple(EagerTensor(value, dtype) for value, dtype in zip(result, dtypes, strict=True))
        return ()

    def launch(self, prepared: PreparedOp, values: Sequence[Any], name: str, where: Where | None = None) -> Any:
        """The result of the kernel. Raises an OpError that names the op, its inputs and the user's line."""
        try:
            return call_quietly(prepared.call, values)
        except Exception as error:
            if type(error) is RuntimeError and str(error) == _WAITS.format(op=prepared.node.op):
                raise
            remember_inputs(error, values)
            node = prepared.node
            inputs = tuple(TensorId(f"input {i}", 0) for i in range(len(values)))
            failed = Node(
                name.rstrip("/"), node.op, inputs, (), node.attrs, node.dtypes, node.shapes, where=where or user_line()
            )
            raise located(error, SimpleNamespace(node=failed, region=None), prepared.device) from error  # type: ignore[arg-type]

    def _prepare(
        self, op_type: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any], name: str
    ) -> tuple[PreparedOp, tuple[Shape, ...]]:
        """The op for inputs of these types, after its rules have found the inputs right; and the outputs' shapes."""
        if op_type in _REFUSED:
            raise RuntimeError(_REFUSED[op_type])
        types = []
        for index, tensor in enumerate(inputs):
            if not isinstance(tensor, EagerTensor):
                raise TypeError(
                    f"Input {index}, {tensor.name}, is a tensor of a graph, which has no value here: an op that runs at once "
                    "can't take it."
                )
            types.append(tensor._dtype)
        gradients = scopes.of(self).gradients
        if op_type in gradients:
            attrs = {**attrs, "_gradient_op_type": gradients[op_type]}
        device = self._device()
        try:
            key: Any = op_type, tuple(attrs.items()), tuple(types), device.name
            prepared = self._prepared.get(key)
        except TypeError:  # an attribute has no hash
            key = prepared = None
        shapes: Any = tuple([tensor.known_shape for tensor in inputs])  # type: ignore[attr-defined]
        if prepared is not None and (shapes_out := prepared.checked.get(shapes)) is not None:
            return prepared, shapes_out
        looked = False

        def value(index: int) -> Any:
            nonlocal looked
            looked = True
            return inputs[index].known_value()  # type: ignore[attr-defined]

        definition = opdef.lookup(op_type)
        definition.check_inputs(types)
        dtypes, inferred = definition.infer(Inference(definition, attrs, types, shapes, value))
        if prepared is None:
            node = Node(
                name=f"{op_type}_{next(_numbers)}",
                op=op_type,
                inputs=tuple(TensorId(f"input {i}", 0) for i in range(len(inputs))),
                attrs=dict(attrs) if attrs else NO_ATTRS,
                dtypes=dtypes,
                shapes=tuple([() if shape == () and not inputs else None for shape in inferred]),
            )
            gives_handle = any(dtype.is_ref for dtype in dtypes) and not definition.has_ref_input
            fresh = gives_handle and not attrs.get("shared_name")
            prepared = PreparedOp(definition, node, device, types, [None] * len(types), fresh, self)
            if key is not None and not fresh:
                if len(self._prepared) >= _MOST_PREPARED:
                    del self._prepared[next(iter(self._prepared))]
                self._prepared[key] = prepared
        if not looked:
            if len(prepared.checked) >= _MOST_CHECKED:
                prepared.checked.clear()
            prepared.checked[shapes] = inferred
        return prepared, inferred

    def resolve(self, definition: OpDef, inputs: Sequence[EagerTensor], attrs: Mapping[str, Any]) -> PreparedOp | None:
        """The op for inputs of just these types and shapes: None if the op has a state or several outputs, or if values decide
        what it gives. Raises TypeError or ValueError for wrong inputs."""
        looked = False

        def value(index: int) -> Any:
            nonlocal looked
            looked = True
            return np.asarray(inputs[index]._value)

        types = [tensor._dtype for tensor in inputs]
        shapes = [tensor.static_shape for tensor in inputs]
        definition.check_inputs(types)
        dtypes, inferred = definition.infer(Inference(definition, attrs, types, shapes, value))
        if looked or len(dtypes) != 1:
            return None
        tensor_ids = tuple(TensorId(spec.name, 0) for spec in definition.inputs)
        node = Node(definition.type, definition.type, tensor_ids, (), attrs, dtypes, inferred)
        prepared = PreparedOp(definition, node, self._device(), types, shapes, False, self)
        return prepared if prepared.pure else None

    def _told(
        self, error: Exception, op_type: str, inputs: Sequence[Tensor], name: str, where: Where | None
    ) -> Exception:
        kinds = [f"input {i}: {t.dtype} {t.static_shape}" for i, t in enumerate(inputs[:8])]
        text = describe(str(error), node=name.rstrip("/"), op=op_type, where=where or user_line(), details=kinds)
        if isinstance(error, ValueError):
            return InvalidArgumentError(text)
        return (TypeError if isinstance(error, TypeError) else RuntimeError)(text)

    def with_gradient(self, f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """See `actorflow.engine.eager.tapes.custom`."""
        from actorflow.engine.eager.tapes.custom import with_gradient

        return with_gradient(f, args, kwargs)

    # Devices

    def devices(self) -> list[Device]:
        """The devices that ops may run on: a CPU."""
        if self._devices is None:
            self._devices = open_devices(None, None)
        return self._devices

    def _device(self) -> Device:
        spec = DeviceSpec()
        for entry in reversed(scopes.of(self).devices):
            if entry is None:
                break
            if not callable(entry):
                spec = spec.merge(DeviceSpec.parse(str(entry)))
        devices = self.devices()
        if spec == DeviceSpec():
            return devices[0]
        device = next((d for d in devices if spec.matches(d.spec)), None)
        if device is None:
            names = ", ".join(d.name for d in devices)
            raise ValueError(f"No device {spec} is here for ops that run at once; there are: {names}.")
        return device

    def device_of(self, tensor: EagerTensor) -> str:
        """The name of the device on which a tensor is."""
        return self.devices()[0].name

    # A graph's face, of which little is left

    @property
    def version(self) -> int:
        return 0

    def __len__(self) -> int:
        """A number that differs in each call: it tells apart the random ops of a program that has set a seed."""
        self._drawn += 1
        return self._drawn

    @property
    def seed(self) -> int | None:
        """The seed of the random ops; setting it begins their numbers again."""
        return self._seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        self._seed, self._drawn = value, 0
        self._prepared = {key: prepared for key, prepared in self._prepared.items() if prepared.pure}

    def reserve_name(self, name: str) -> str:
        """See `Graph.reserve_name`; here names need not differ."""
        return name if name.endswith("/") else f"{name}/"

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """See `Graph.unique_name`; here names need not differ."""
        return name

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """See `Graph.name_scope`; here the names of scopes are in no other names."""
        yield f"{name.rstrip('/')}/" if name else ""

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """See `Graph.control_dependencies`; here ops run in the order of the program."""
        yield

    @contextmanager
    def colocate_with(self, element: Any, ignore_existing: bool = False) -> Iterator[None]:
        """See `Graph.colocate_with`, without effect here."""
        yield

    @contextmanager
    def gradient_of(self, origin: str) -> Iterator[None]:
        """See `Graph.gradient_of`, without effect here."""
        yield

    def as_graph_element(self, element: Any, *, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """`element`, which has to be a tensor that has a value or an operation that has run."""
        if isinstance(element, (EagerTensor, EagerOperation)):
            return element
        raise TypeError(f"{element!r:.80} is nothing that has run: there is no graph under eager execution.")

    def add_to_collection(self, name: str, value: Any) -> None:
        """Does nothing: what a program makes under eager execution belongs to the program."""

    def get_collection_ref(self, name: str) -> list[Any]:
        """An empty list, which is not kept."""
        return []

    def set_device(self, operation: Operation, device: str) -> None:
        """Does nothing: the operation has run."""

    def __repr__(self) -> str:
        return "<the graph that runs each node as it is made>"


def wait_for_writers(values: Sequence[Any]) -> None:
    """Returns when no kernel on a thread touches the variables among some values. Blocks."""
    for state in values:
        writer = getattr(state, "writer", None)
        if writer is not None:
            ended = threading.Event()
            writer.when_over(ended.set)
            ended.wait()


GRAPH = EagerGraph()
