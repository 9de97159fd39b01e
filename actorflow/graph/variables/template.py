"""`make_template`: a function whose variables are made in its first call and shared by all later calls
(`tf.make_template`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.scope import variable_scope
from actorflow.graph.variables.store import VariableScope
from actorflow.graph.variables.variable import Variable
from actorflow.public import public

__all__ = ["Template", "make_template"]


class Template:
    """A function in a variable scope of its own, which later calls enter again to reuse. `make_template` makes it."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Callable[..., Any] | None = None,
    ) -> None:
        """
        Args:
            name: the name of the variable scope, to which a number is added if it is in use.
            func: the function.
            create_scope_now: whether the scope is named here, instead of in the first call.
            unique_name: the name of the scope, used as it is instead of `name`.
            custom_getter: that of the scope.
        """
        self.name = name
        self.func = func
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._where = user_line()
        self._called = False
        self._scope: VariableScope | None = None
        if create_scope_now:
            with variable_scope(unique_name, name, custom_getter=custom_getter, auxiliary_name_scope=False) as scope:
                self._scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function in the scope; from the second call on its variables have to exist.

        Raises:
            ValueError: a later call made a trainable variable.
        """
        if self._scope is not None:
            with variable_scope(self._scope, reuse=self._called):
                return self._call(args, kwargs)
        with variable_scope(self._unique_name, self.name, custom_getter=self._custom_getter) as self._scope:
            return self._call(args, kwargs)

    def _call(self, args: Any, kwargs: Any) -> Any:
        graph = get_default_graph()
        before = len(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
        try:
            result = self.func(*args, **kwargs)
        except Exception as error:
            error.add_note(f"  in a call of the template {self.name}, made at {self._where}")
            raise
        variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)[before:]
        if self._called and variables:
            raise ValueError(
                describe(
                    f"Trainable variable created when calling a template after the first time: "
                    f"{', '.join(variable.name for variable in variables)}.",
                    where=user_line(),
                    details=[f"the template {self.name} was made at {self._where}"],
                    hint="Make variables with get_variable, which finds them in later calls, instead of Variable.",
                )
            )
        self._called = True
        return result

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the variables; None before the first call, unless it was named at once."""
        return self._scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope with a `/` at its end; None as long as there is no scope."""
        return None if self._scope is None else f"{self._scope.name}/"

    @property
    def global_variables(self) -> list[Variable]:
        """The global variables of the scope."""
        return [] if self._scope is None else self._scope.global_variables()

    variables = global_variables

    @property
    def local_variables(self) -> list[Variable]:
        """The local variables of the scope."""
        return [] if self._scope is None else self._scope.local_variables()

    @property
    def trainable_variables(self) -> list[Variable]:
        """The trainable variables of the scope."""
        return [] if self._scope is None else self._scope.trainable_variables()

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The global variables of the scope that are not trainable."""
        trainable = set(map(id, self.trainable_variables))
        return [variable for variable in self.global_variables if id(variable) not in trainable]


@public("af")
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Template:
    """A function that makes its variables in its first call and reuses them in all later calls (`tf.make_template`).

    Two templates of one name have separate variables: the second one's scope is `layer_1`.

    Example:
        >>> def scale(x):
        ...     return x * af.get_variable("factor", initializer=3.0)
        >>> x = af.placeholder(af.float32)
        >>> shared = af.make_template("scale", scale)
        >>> y, z = shared(x), shared(x)
        >>> [v.name for v in af.trainable_variables()]
        ['scale/factor:0']

    Args:
        name_: the name of the variable scope, to which a number is added if it is in use.
        func_: the function. It takes its variables with `get_variable`.
        create_scope_now_: whether the scope is named now, in the variable scope that is open here; else in the first
            call, in the scope that is open there.
        unique_name_: the name of the scope, used as it is instead of `name_`; it must not be in use.
        custom_getter_: called in place of the getter of `get_variable` inside, as in `variable_scope`.
        kwargs: keyword arguments that each call passes to `func_`.

    Returns:
        A `Template`, to be called as `func_`. Its `variables`, `trainable_variables` and `local_variables` list what the
        first call made. An error that `func_` raises carries a note with the line that made the template.

    Raises:
        ValueError: `name_` is None; in a call after the first, `func_` makes a trainable variable.
    """
    if name_ is None:
        raise ValueError("A template's name cannot be None.")
    func = functools.partial(func_, **kwargs) if kwargs else func_
    return Template(name_, func, create_scope_now_, unique_name_, custom_getter_)
