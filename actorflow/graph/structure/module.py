"""`Module`: an object that tells the variables and the modules in its attributes (`tf.Module`)."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from actorflow.graph.default_graph import name_scope
from actorflow.graph.variables.partitioned import PartitionedVariable
from actorflow.graph.variables.variable import Variable
from actorflow.public import public


@public("tf")
class Module:
    """The base of objects that hold variables (`tf.Module`).

    Attributes are searched in the order of their names, lists, tuples and dicts included; inner modules come last.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> class Dense(tf.Module):
        ...     def __init__(self, inputs, outputs, name=None):
        ...         super().__init__(name)
        ...         with self.name_scope:
        ...             self.w = tf.Variable(tf.ones([inputs, outputs]), name="w")
        ...     @tf.Module.with_name_scope
        ...     def __call__(self, x):
        ...         return tf.matmul(x, self.w)
        >>> with tf.Graph().as_default():
        ...     dense = Dense(2, 3, name="dense")
        ...     print(dense(tf.ones([1, 2])).name, [v.name for v in dense.variables])
        dense/MatMul:0 ['dense/w:0']
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset({"_arguments"})
    """The attributes that are not searched; classes of libraries add theirs, under TensorFlow's name for them."""
    _name: str | None = None
    _arguments: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
    """The arguments that made the object."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        module = super().__new__(cls)
        module._arguments = (args, kwargs)
        return module

    def __init__(self, name: str | None = None) -> None:
        """
        Args:
            name: the name, an identifier of Python; that of the class in snake case unless given.

        Raises:
            ValueError: `name` is no identifier.
        """
        if name is not None and not name.isidentifier():
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers, such as a class has."
            )
        self._name = name or snake_case(type(self).__name__)

    @property
    def name(self) -> str:
        """The name, without a scope."""
        return self._name or ""

    @property
    def name_scope(self) -> Any:
        """The scope of the module's nodes, to be entered by `with`; it is the same scope each time."""
        scope = self.__dict__.get("_entered_scope")
        if scope is None:
            with name_scope(self.name) as path:
                scope = self.__dict__["_entered_scope"] = path
        return name_scope(scope)

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """A decorator of a method, which then makes its nodes in `name_scope`.

        Args:
            method: a method of a class derived of this class.

        Example:
            >>> import actorflow.compat.v1 as tf
            >>> class Three(tf.Module):
            ...     @tf.Module.with_name_scope
            ...     def __call__(self):
            ...         return tf.constant(3.0)
            >>> with tf.Graph().as_default():
            ...     print(Three("count")().name)
            count/Const:0
        """

        @functools.wraps(method)
        def call(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return call

    @property
    def variables(self) -> Any:
        """The variables of this module and of those in it."""
        return tuple(value for module in (self, *self.submodules) for value in module._parts(Variable))

    @property
    def trainable_variables(self) -> Any:
        """Those of `variables` that optimizers change."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules in this module, those of its own attributes first."""
        reached: dict[int, Module] = {}
        waiting: list[Module] = [self]
        while waiting:
            for inner in waiting.pop(0)._parts(Module):
                if inner is not self and id(inner) not in reached:
                    reached[id(inner)] = inner
                    waiting.append(inner)
        return tuple(reached.values())

    def _no_dependency(self, value: Any) -> Any:
        """`value`: classes of libraries mark by it what a checkpoint of TensorFlow's objects doesn't follow."""
        return value

    def _parts(self, kind: type[Any]) -> list[Any]:
        """The objects of a class in the attributes, each once."""
        parts = {id(part): part for _, value in sorted(self._searched()) for part in _leaves(value, kind)}
        return list(parts.values())

    def _searched(self) -> list[tuple[str, Any]]:
        """The attributes that may hold variables and modules, with their names."""
        return [(name, value) for name, value in vars(self).items() if name not in self._TF_MODULE_IGNORED_PROPERTIES]

    def _named_arguments(self) -> dict[str, Any]:
        """The arguments that made the object by their names, with defaults for those that were not given."""
        args, kwargs = self._arguments
        signature = inspect.signature(type(self).__init__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        named = dict(bound.arguments)
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                named |= named.pop(parameter.name)
        return named


def _leaves(value: Any, kind: type[Any]) -> Iterator[Any]:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, PartitionedVariable):
        if kind is Variable:
            yield from value
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _leaves(value[key], kind)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _leaves(entry, kind)


def snake_case(name: str) -> str:
    """The name of a class as that of its objects: `Conv2DTranspose` gives `conv2d_transpose`."""
    parted = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", parted).lower()
