"""`@op`: a typed function without a body is the declaration of an op, and calling it adds a node.

    @op("Softsign", shape=unchanged, dtypes=FLOATING)
    def softsign(features: TensorLike, *, name: str | None = None) -> Tensor:
        "features / (1 + |features|), elementwise."

    @softsign.gradient
    def _(node, dy): ...

The signature is the schema. Positional parameters are inputs, by annotation: `TensorLike` a tensor,
`Sequence[TensorLike]` any number of tensors of one type, `Sequence[Any]` of any types, `RefLike` a variable's handle.
Keyword-only parameters are attributes. A call may also give them, and then the name, by position after the inputs, as
calls of TensorFlow's functions do: `softsign(x, "s")`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, ForwardRef, Generic, ParamSpec, TypeAlias, TypeVar, get_args, get_origin

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import ANY, DType, as_dtype
from actorflow.base.registry import opdef
from actorflow.base.registry.opdef import REQUIRED, AttrDef, Inference, InputDef, OpDef
from actorflow.base.registry.roles import Role
from actorflow.base.reports.tracebacks import leave_out
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import ShapeLike
from actorflow.errors import describe
from actorflow.graph.convert import graph_of
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.arguments import attribute_value, convert_inputs
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

P = ParamSpec("P")


R = TypeVar("R")


# The values that an op takes for a reference: a variable, or the tensor of its handle.
RefLike: TypeAlias = Any


class _SameType:
    """`T` in a `result=`: the element type that the op's inputs share."""

    def __repr__(self) -> str:
        return "T"


T = _SameType()


ResultType: TypeAlias = "DType | str | _SameType | Callable[[Inference], DType]"


_ANNOTATIONS: dict[str, opdef.InputKind] = {
    "TensorLike": "tensor",
    "Tensor": "tensor",
    "Sequence[TensorLike]": "list",
    "Sequence[Tensor]": "list",
    "Sequence[Any]": "list",
    "RefLike": "ref",
}


_ALIASES: dict[Any, str] = {TensorLike: "TensorLike", dt.DTypeLike: "DTypeLike", ShapeLike: "ShapeLike"}


_MODULES = re.compile(r"\b\w+\.(?=\w)")


class Op(Generic[P, R]):
    """A registered op: call it to add a node; `.gradient` registers how to differentiate it."""

    def __init__(self, function: Callable[P, R], definition: OpDef, signature: inspect.Signature) -> None:
        self.definition = definition
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self.__signature__ = signature
        self.prepared: dict[Any, Any] = {}
        """Calls on tensors that have values, ready to run (`actorflow.engine.eager.dispatch`)."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if args and (instead := _instead.get(type(args[0]))) is not None:
            result = instead(self, args, kwargs)
            if result is not NotImplemented:
                return result  # type: ignore[no-any-return]
        definition = self.definition
        arguments: Any = args
        if len(args) > len(definition.inputs):
            arguments = self._place(args, kwargs)
        name = kwargs.pop("name", None)
        try:
            try:
                attrs = self._attributes(kwargs)
                values = self._bind(arguments, kwargs)
                graph = graph_of(values)
                if all([type(value) is Tensor for value in values]):
                    inputs = convert_inputs(definition, values, graph)
                else:
                    name = graph.reserve_name(name or definition.type)  # type: ignore[arg-type]
                    with graph.name_scope(name):
                        inputs = convert_inputs(definition, values, graph)
            except (TypeError, ValueError) as error:
                raise type(error)(
                    describe(
                        str(error),
                        node=_intended_name(str(name or definition.type)),
                        op=definition.type,
                        where=user_line(),
                        details=[f"declared as {definition.signature}"],
                    )
                ) from None
            operation = graph.create_op(definition.type, inputs, attrs, name)  # type: ignore[arg-type]
        except Exception as error:
            leave_out(error)
            raise
        outputs = operation.outputs
        if len(outputs) == 1:
            return outputs[0]  # type: ignore[return-value]
        return outputs or operation  # type: ignore[return-value]

    def gradient(self, rule: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Registers `rule(node, *output_gradients)`, which gives one tensor or None an input. None: no gradient."""
        self.definition.gradient = rule
        return rule

    def _place(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The inputs among positional arguments. The others go to `kwargs`: attributes in the order of their declaration,
        then the name, as in TensorFlow. An argument that can't be placed stays, for `_bind` to refuse.
        """
        count = len(self.definition.inputs)
        names = [*(a.name for a in self.definition.attrs), "name"]
        extra = dict(zip(names, args[count:]))
        if (
            len(args) - count > len(names)
            or not isinstance(extra.get("name"), (str, NoneType))
            or extra.keys() & kwargs
        ):
            return args
        kwargs.update(extra)
        return args[:count]

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        declared = self.definition.inputs
        if len(args) > len(declared):
            raise TypeError(f"{self.__name__} takes {len(declared)} inputs, but {len(args)} were given.")
        values = list(args)
        for spec in declared[len(args) :]:
            if spec.name not in kwargs:
                raise TypeError(f"{self.__name__} misses its input {spec.name!r}.")
            values.append(kwargs.pop(spec.name))
        if kwargs:
            raise TypeError(f"{self.__name__} has no attribute {next(iter(kwargs))!r}.")
        return values

    def _attributes(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        attrs: dict[str, Any] = {}
        for spec in self.definition.attrs:
            if spec.name in kwargs:
                attrs[spec.name] = attribute_value(spec, kwargs.pop(spec.name))
            elif spec.default is REQUIRED:
                raise TypeError(f"{self.__name__} misses its attribute {spec.name!r}.")
            else:
                attrs[spec.name] = spec.default
        return attrs

    def __repr__(self) -> str:
        return f"<op {self.definition.signature}>"


_instead: dict[type, Callable[[Op[Any, Any], Sequence[Any], Mapping[str, Any]], Any]] = {}


def call_instead(
    kinds: Iterable[type], function: Callable[[Op[Any, Any], Sequence[Any], Mapping[str, Any]], Any]
) -> None:
    """Calls `function(op, args, kwargs)` for each op whose first input is of one of the types `kinds`. If that gives
    NotImplemented, the call goes on as any other: to the graph of its inputs."""
    _instead.update(dict.fromkeys(kinds, function))


def _intended_name(name: str) -> str:
    """The name that a node would have got, for the error that says why it was not made."""
    scope = get_default_graph().get_name_scope()
    return name.removesuffix("/") if name.endswith("/") or not scope else f"{scope}/{name}"


@public("af")
def op(
    type: str,
    *,
    shape: opdef.ShapeRule,
    dtypes: frozenset[DType] = ANY,
    result: ResultType | tuple[ResultType, ...] | opdef.DtypeRule | None = T,
    types: Mapping[str, frozenset[DType] | DType] | None = None,
    gradient: Any = opdef.MISSING_GRADIENT,
    prefer: DType | None = None,
    stateful: bool = False,
    commutative: bool = False,
    broadcasts: bool = False,
    view: bool = False,
    asynchronous: bool = False,
    fires_dead: bool = False,
    takes_dead: bool = False,
    emits_dead: bool = False,
    writes: bool = False,
    role: Role | None = None,
    work: float | opdef.WorkRule | None = None,
) -> Callable[[Callable[P, R]], Op[P, R]]:
    """Declares the op `type`.

    Example:
        >>> from actorflow.graph.ops.shape_rules import unchanged
        >>> @af.op("ExampleHalf", shape=unchanged, gradient=lambda node, dy: [dy / 2])
        ... def half(x: af.Tensor, *, name=None):
        ...     "Half of each element."
        >>> @af.kernel("ExampleHalf")
        ... def _(xp, x):
        ...     return x / 2
        >>> x = af.placeholder(af.float32, [None])
        >>> await session.run([half(x), *af.gradients(half(x), x)], {x: [3.0, 6.0]})
        [[1.5 3. ], [0.5 0.5]]

    Args:
        type: the op's name in graphs, such as "MatMul".
        shape: the shape rule: from the inputs' shapes (an `Inference`) to the output's, or a list for several outputs.
        dtypes: the element types that the inputs may share. All inputs share one type, except those in `types`.
        result: the outputs' types: `T` (the shared type), a type, the name of an attribute that holds it, a rule of the
            `Inference`, a tuple of these for several outputs, or None for no output.
        types: inputs with a type of their own.
        gradient: the rule `(node, *output_gradients)`, which gives one tensor or None an input; None where the op has
            none. `Op.gradient` gives it afterwards.
        prefer: the type that plain Python values take where no tensor decides.
        stateful: the op has an effect or another result each time, so it is never folded, merged or left out of order.
        commutative: the inputs may be exchanged, unless they are strings.
        broadcasts: the inputs are broadcast to one shape.
        view: an output may be a view of an input's buffer.
        asynchronous: each kernel is `async def` or calls a continuation, so no thread waits.
        fires_dead: the op runs although an input is dead, as Merge does.
        takes_dead: with `fires_dead`, the kernel of a dead node gets one `DEAD` in place of its inputs, as Send's does.
        emits_dead: it may give a dead token although it is alive itself, as Switch does.
        writes: it writes the variable that is its first input.
        role: what the op is to the runtime and to passes, where these treat it apart (`actorflow.base.registry.roles`).
        work: arithmetic operations for each output element, or a rule that gives the total. Give it where kernels are
            known to be short: without it the first run of a node goes to its device's thread, constants are not folded
            through it, and a loop around it is run node by node.

    Raises:
        TypeError: the signature is none of an op, or another op has the name.
    """

    def decorate(function: Callable[P, R]) -> Op[P, R]:
        code = function.__code__
        parameters = inspect.signature(function)
        inputs, attrs = _schema(type, parameters, dtypes, types or {}, prefer)
        definition = OpDef(
            type=type,
            inputs=inputs,
            attrs=attrs,
            dtype_rule=_dtype_rule(result),
            shape_rule=shape,
            signature=f"{function.__name__}{parameters}".replace("'", ""),
            where=f"{code.co_filename}:{code.co_firstlineno}",
            module=function.__module__,
            gradient=gradient,
            stateful=stateful,
            commutative=commutative,
            broadcasts=broadcasts,
            view=view,
            asynchronous=asynchronous,
            fires_dead=fires_dead,
            takes_dead=takes_dead,
            emits_dead=emits_dead,
            writes=writes,
            role=role,
            work=1.0 if work is None and function.__module__.startswith("actorflow.") else work,
            output_count=len(result) if isinstance(result, tuple) else None,
        )
        opdef.register(definition)
        return Op(function, definition, parameters)

    return decorate


def _schema(
    op_type: str,
    signature: inspect.Signature,
    shared: frozenset[DType],
    own: Mapping[str, frozenset[DType] | DType],
    prefer: DType | None,
) -> tuple[tuple[InputDef, ...], tuple[AttrDef, ...]]:
    inputs: list[InputDef] = []
    attrs: list[AttrDef] = []
    for parameter in signature.parameters.values():
        annotation = _spelling(parameter.annotation)
        if parameter.name == "name":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            default = REQUIRED if parameter.default is parameter.empty else parameter.default
            attrs.append(AttrDef(parameter.name, annotation, default))
            continue
        kind = _ANNOTATIONS.get(annotation)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(
                f"Op {op_type}: the parameter {parameter.name!r} is behind a star; an input of any number of tensors is one "
                f"parameter, annotated Sequence[TensorLike]."
            )
        if kind is None:
            detail = "has no annotation" if parameter.annotation is parameter.empty else f"is annotated {annotation!r}"
            raise TypeError(
                f"Op {op_type}: the parameter {parameter.name!r} {detail}; inputs are annotated with one "
                f"of {', '.join(_ANNOTATIONS)}, and attributes come after a `*`."
            )
        mine = own.get(parameter.name)
        if mine is None:
            group = "" if annotation == "Sequence[Any]" else "T"
            only = next(iter(shared)) if len(shared) == 1 else None
            inputs.append(InputDef(parameter.name, kind, group, shared, prefer or only))
        else:
            single = isinstance(mine, DType)
            allowed = frozenset((mine,)) if isinstance(mine, DType) else mine
            default_type = mine if single else (dt.int32 if allowed == dt.INDEX else None)
            inputs.append(InputDef(parameter.name, kind, parameter.name, allowed, default_type))  # type: ignore[arg-type]
    if unknown := set(own) - {i.name for i in inputs}:
        raise TypeError(f"Op {op_type}: `types` names {sorted(unknown)}, which are no inputs.")
    return tuple(inputs), tuple(attrs)


def _spelling(annotation: Any) -> str:
    """An annotation as it is written, without the modules of its names; modules that don't postpone the evaluation of
    annotations (`from __future__ import annotations`) give objects."""
    if annotation in _ALIASES:
        return _ALIASES[annotation]
    if isinstance(annotation, str):
        return _MODULES.sub("", annotation)
    if isinstance(annotation, ForwardRef):
        return _spelling(annotation.__forward_arg__)
    if get_origin(annotation) is Sequence:
        return f"Sequence[{_spelling(get_args(annotation)[0])}]"
    if isinstance(annotation, type):
        return annotation.__name__
    return _MODULES.sub("", str(annotation))


def _dtype_rule(result: Any) -> opdef.DtypeRule:
    if result is None:
        return lambda c: ()
    if isinstance(result, tuple):
        rules = [_one_dtype(r) for r in result]
        return lambda c: tuple(rule(c) for rule in rules)
    if callable(result) and not isinstance(result, _SameType):

        def computed(c: Inference) -> tuple[DType, ...]:
            dtypes = result(c)
            return dtypes if isinstance(dtypes, tuple) else (dtypes,)

        return computed
    dtype_of = _one_dtype(result)
    return lambda c: (dtype_of(c),)


def _one_dtype(result: Any) -> Callable[[Inference], DType]:
    if isinstance(result, DType):
        return lambda c: result
    if isinstance(result, str):
        return lambda c: as_dtype(c.attrs[result])
    if isinstance(result, _SameType):
        return _shared_dtype
    return result  # type: ignore[no-any-return]


def _shared_dtype(c: Inference) -> DType:
    """The element type of the first input of the group T."""
    for index, spec in enumerate(c.op.inputs):
        if spec.group == "T":
            return c.dtypes[index].base_dtype
    raise TypeError(f"Op {c.op.type} has no input that shares its type.")
