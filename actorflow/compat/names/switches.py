"""Switches between TensorFlow's behaviours, of which there is that of version 1, and enums of variables."""

from __future__ import annotations

import enum
from typing import NoReturn

from actorflow.graph.overloads import compare
from actorflow.public import public


@public("tf")
class VariableSynchronization(enum.Enum):
    """When replicas of a variable agree; there is one replica.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.VariableSynchronization.ON_READ.value
        3
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@public("tf")
class VariableAggregation(enum.Enum):
    """How the updates of several replicas are joined: the `aggregation` of a variable.

    Without it, and with SUM, each `assign_add` and `assign_sub` of a replica counts. With ONLY_FIRST_REPLICA, and for the global
    step, those of the first count alone. Other updates are refused with several replicas (NotImplementedError), as with MEAN
    and NONE. Moving averages move towards the mean of all replicas.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.VariableAggregation.SUM.value
        1
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = ONLY_FIRST_REPLICA


@public("tf")
def enable_v2_behavior() -> NoReturn:
    """Raises NotImplementedError: there is only the behaviour of version 1."""
    raise NotImplementedError(
        "actorflow.compat.v1 has TensorFlow 1's behaviour alone. Eager execution is there: tf.enable_eager_execution()."
    )


@public("tf")
def enable_control_flow_v2() -> None:
    """Does nothing: there is one control flow.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.enable_control_flow_v2()
    """


@public("tf")
def disable_control_flow_v2() -> None:
    """Does nothing: there is one control flow.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.disable_control_flow_v2()
    """


@public("tf")
def control_flow_v2_enabled() -> bool:
    """False.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.control_flow_v2_enabled()
        False
    """
    return False


@public("tf")
def resource_variables_enabled() -> bool:
    """True: each variable is what TensorFlow calls a resource.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.resource_variables_enabled()
        True
    """
    return True


@public("tf")
def disable_tensor_equality() -> None:
    """`==` and `!=` of tensors and variables compare identities, as without this call.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.disable_tensor_equality()
        >>> x = tf.constant(2.0)
        >>> x == 2.0
        False
    """
    compare(by_values=False)


@public("tf")
def enable_tensor_equality() -> None:
    """`==` and `!=` of tensors and variables compare values from now on, in the whole process. They stay keys of dictionaries.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.enable_tensor_equality()
        >>> tf.constant([1.0, 2.0]) == 2.0
        [False  True]
        >>> tf.disable_tensor_equality()
    """
    compare(by_values=True)
