"""What `import actorflow as af` gives of variables as `af.<name>`, under the names of `tf.*`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.lazy import lazily

if TYPE_CHECKING:
    from actorflow.variables.collections import (
        GraphKeys,
        add_to_collection,
        add_to_collections,
        all_variables,
        assert_variables_initialized,
        get_collection,
        get_collection_ref,
        global_variables,
        global_variables_initializer,
        initialize_all_variables,
        initialize_local_variables,
        initialize_variables,
        is_variable_initialized,
        local_variables,
        local_variables_initializer,
        model_variables,
        moving_average_variables,
        report_uninitialized_variables,
        trainable_variables,
        variables_initializer,
    )
    from actorflow.variables.initializers import (
        constant_initializer,
        glorot_normal_initializer,
        glorot_uniform_initializer,
        he_normal,
        he_uniform,
        identity_initializer,
        lecun_normal,
        lecun_uniform,
        ones_initializer,
        orthogonal_initializer,
        random_normal_initializer,
        random_uniform_initializer,
        truncated_normal_initializer,
        uniform_unit_scaling_initializer,
        variance_scaling_initializer,
        zeros_initializer,
    )
    from actorflow.variables.partitioned import PartitionedVariable
    from actorflow.variables.partitioners import (
        fixed_size_partitioner,
        min_max_variable_partitioner,
        variable_axis_size_partitioner,
    )
    from actorflow.variables.scope import (
        AUTO_REUSE,
        VariableScope,
        get_local_variable,
        get_variable,
        get_variable_scope,
        variable_scope,
    )
    from actorflow.variables.variable import Variable

__getattr__, __dir__ = lazily(__name__, __file__)

__all__ = [
    "AUTO_REUSE",
    "GraphKeys",
    "PartitionedVariable",
    "Variable",
    "VariableScope",
    "add_to_collection",
    "add_to_collections",
    "all_variables",
    "assert_variables_initialized",
    "constant_initializer",
    "fixed_size_partitioner",
    "get_collection",
    "get_collection_ref",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "he_normal",
    "he_uniform",
    "identity_initializer",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "is_variable_initialized",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "local_variables_initializer",
    "min_max_variable_partitioner",
    "model_variables",
    "moving_average_variables",
    "ones_initializer",
    "orthogonal_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "report_uninitialized_variables",
    "trainable_variables",
    "truncated_normal_initializer",
    "uniform_unit_scaling_initializer",
    "variable_axis_size_partitioner",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
]
