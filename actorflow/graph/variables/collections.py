"""A graph's lists of variables and other things by purpose (`tf.GraphKeys`), and ops that initialise variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from actorflow.base.dtypes import string
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.gather import boolean_mask
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.math.logic import logical_not
from actorflow.graph.ops.state.variable import is_variable_initialized_op
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.graph.variables.variable import Variable


@public("af")
class GraphKeys:
    """The names of the standard collections, TensorFlow's.

    Example:
        >>> with af.Graph().as_default():
        ...     v = af.Variable(1.0)
        ...     print(af.get_collection(af.GraphKeys.TRAINABLE_VARIABLES) == [v])
        True
    """

    GLOBAL_VARIABLES = "variables"
    VARIABLES = GLOBAL_VARIABLES
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    REGULARIZATION_LOSSES = "regularization_losses"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVERS = "savers"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


@public("af")
def add_to_collection(name: str, value: Any) -> None:
    """`Graph.add_to_collection` of the default graph.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> af.add_to_collection("inputs", x)
        >>> af.get_collection("inputs") == [x]
        True
    """
    get_default_graph().add_to_collection(name, value)


@public("af")
def add_to_collections(names: Iterable[str] | str, value: Any) -> None:
    """Adds `value` to each of several collections of the default graph, once to each.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> af.add_to_collections(["inputs", "outputs"], x)
        >>> af.get_collection("outputs") == [x]
        True
    """
    for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
        add_to_collection(name, value)


@public("af")
def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """`Graph.get_collection` of the default graph.

    Example:
        >>> x = af.placeholder(af.float32, name="scope/x")
        >>> af.add_to_collection("inputs", x)
        >>> af.get_collection("inputs", scope="scope") == [x], af.get_collection("inputs", scope="other")
        (True, [])
    """
    return get_default_graph().get_collection(key, scope)


@public("af")
def get_collection_ref(key: str) -> list[Any]:
    """The list itself of a collection of the default graph: changing it changes the collection.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> af.get_collection_ref("inputs").append(x)
        >>> af.get_collection("inputs") == [x]
        True
    """
    return get_default_graph().get_collection_ref(key)


@public("af")
def global_variables(scope: str | None = None) -> list[Variable]:
    """The variables of the default graph that all processes share: what a checkpoint holds.

    Example:
        >>> with af.Graph().as_default():
        ...     v = af.Variable(1.0, name="v")
        ...     count = af.get_local_variable("count", initializer=0)
        ...     print([v.name for v in af.global_variables()])
        ['v:0']
    """
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


@public("af")
def all_variables() -> list[Variable]:
    """TensorFlow's older name of `global_variables`.

    Example:
        >>> with af.Graph().as_default():
        ...     v = af.Variable(1.0, name="v")
        ...     print(af.all_variables() == [v])
        True
    """
    return global_variables()


@public("af")
def local_variables(scope: str | None = None) -> list[Variable]:
    """The variables of the default graph that each process has for itself.

    Example:
        >>> with af.Graph().as_default():
        ...     v = af.Variable(1.0, name="v")
        ...     count = af.get_local_variable("count", initializer=0)
        ...     print([v.name for v in af.local_variables()])
        ['count:0']
    """
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


@public("af")
def trainable_variables(scope: str | None = None) -> list[Variable]:
    """The variables of the default graph that optimizers change, unless they are told which.

    Example:
        >>> with af.Graph().as_default():
        ...     v, step = af.Variable(1.0, name="v"), af.Variable(0, trainable=False)
        ...     print([v.name for v in af.trainable_variables()])
        ['v:0']
    """
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


@public("af")
def model_variables(scope: str | None = None) -> list[Variable]:
    """The variables of the default graph that inference needs, as far as the program lists them.

    Example:
        >>> with af.Graph().as_default():
        ...     v = af.Variable(1.0, collections=[af.GraphKeys.GLOBAL_VARIABLES, af.GraphKeys.MODEL_VARIABLES])
        ...     w = af.Variable(2.0)
        ...     print(af.model_variables() == [v])
        True
    """
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


@public("af")
def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """The variables of the default graph that moving averages are kept of.

    Example:
        >>> with af.Graph().as_default():
        ...     v, w = af.Variable(1.0), af.Variable(2.0)
        ...     keep = af.train.ExponentialMovingAverage(0.9).apply([v])
        ...     print(af.moving_average_variables() == [v])
        True
    """
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


@public("af", "tf.initializers:variables")
def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """An operation that gives all of `var_list` their initial values (`tf.variables_initializer`).

    Example:
        >>> v, w = af.Variable(1.0), af.Variable(2.0)
        >>> await session.run(af.variables_initializer([v]))
        >>> await session.run([af.is_variable_initialized(v), af.is_variable_initialized(w)])
        [True, False]
    """
    return group(*[variable.initializer for variable in var_list], name=name)


@public("af", "tf.initializers:global_variables")
def global_variables_initializer() -> Operation:
    """An operation that gives all global variables made so far their initial values.

    Example:
        >>> v = af.Variable([1.0, 2.0])
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(v)
        [1. 2.]
    """
    return variables_initializer(global_variables())


@public("af", "tf.initializers:local_variables")
def local_variables_initializer() -> Operation:
    """An operation that gives all local variables made so far their initial values.

    Example:
        >>> count = af.get_local_variable("count", initializer=0)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(count)
        0
    """
    return variables_initializer(local_variables())


@public("af")
def initialize_all_variables() -> Operation:
    """TensorFlow's older name of `global_variables_initializer`.

    Example:
        >>> v = af.Variable([1.0, 2.0])
        >>> await session.run(af.initialize_all_variables())
        >>> await session.run(v)
        [1. 2.]
    """
    return global_variables_initializer()


@public("af")
def initialize_variables(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """TensorFlow's older name of `variables_initializer`.

    Example:
        >>> v, w = af.Variable(1.0), af.Variable(2.0)
        >>> await session.run(af.initialize_variables([v]))
        >>> await session.run([af.is_variable_initialized(v), af.is_variable_initialized(w)])
        [True, False]
    """
    return variables_initializer(var_list, name)


@public("af")
def initialize_local_variables() -> Operation:
    """TensorFlow's older name of `local_variables_initializer`.

    Example:
        >>> count = af.get_local_variable("count", initializer=0)
        >>> await session.run(af.initialize_local_variables())
        >>> await session.run(count)
        0
    """
    return local_variables_initializer()


@public("af")
def is_variable_initialized(variable: Variable) -> Tensor:
    """Whether the variable has a value, a boolean scalar.

    Example:
        >>> v = af.Variable(1.0)
        >>> await session.run(af.is_variable_initialized(v))
        False
        >>> await session.run(v.initializer)
        >>> await session.run(af.is_variable_initialized(v))
        True
    """
    return is_variable_initialized_op(variable)


@public("af")
def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Operation | None:
    """An operation that raises FailedPreconditionError if a variable of `var_list` (all variables) has no value.

    None without variables.

    Example:
        >>> v = af.Variable(1.0, name="v")
        >>> check = af.assert_variables_initialized([v])
        >>> await session.run(check)
        Traceback (most recent call last):
            ...
        actorflow.errors.FailedPreconditionError: Attempting to use uninitialized value v: the variable has ...
    """
    chosen = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    return group(*[variable.read_value() for variable in chosen]) if chosen else None


@public("af")
def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names of the variables of `var_list` (all global and local variables) that have no value, a vector of strings.

    Example:
        >>> v, w = af.Variable(1.0, name="v"), af.Variable(2.0, name="w")
        >>> missing = af.report_uninitialized_variables()
        >>> await session.run(v.initializer)
        >>> await session.run(missing)
        [b'w']
    """
    chosen = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    graph = chosen[0].graph if chosen else get_default_graph()
    with graph.as_default(), graph.name_scope(name):
        if not chosen:
            return constant([], dtype=string)
        missing = logical_not(stack([is_variable_initialized(variable) for variable in chosen]))
        return boolean_mask(constant([variable.op.name for variable in chosen]), missing)
