"""`tf.contrib.framework`: scopes of arguments, and variables of models.

arguments.py  `arg_scope`: default arguments for the functions of layers
restoring.py  variables from checkpoints and from values
variables.py  variables of models, and the collections that hold them
"""

from actorflow.compat.contrib.parts import part as _part

PLACES = {
    ".framework.arguments": "add_arg_scope arg_scope arg_scope_func_key arg_scoped_arguments current_arg_scope has_arg_scope",
    ".framework.variables": "add_model_variable assert_global_step assert_or_get_global_step filter_variables "
    "get_local_variables get_model_variables get_trainable_variables get_unique_variable get_variable_full_name get_variables "
    "get_variables_by_name get_variables_by_suffix get_variables_to_restore global_variable local_variable model_variable "
    "variable VariableDeviceChooser get_placeholders get_name_scope prepend_name_scope",
    ".framework.restoring": "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn",
    "actorflow.compat.door.standins": "deprecated deprecated_args deprecated_arg_values smart_cond strip_name_scope "
    "smart_constant_value=constant_value get_graph_from_inputs=graph_of_inputs",
    "actorflow.compat.door.structures": "nest=.",
    "actorflow.compat.door.calculations": "remove_squeezable_dimensions",
    "tf": "TensorSpec argsort convert_to_tensor_or_sparse_tensor is_tensor py_func sort "
    "zero_initializer=zeros_initializer smart_case=case",
    "tf.debugging": "assert_same_float_dtype assert_scalar",
    "tf.train": "create_global_step get_global_step get_or_create_global_step init_from_checkpoint list_variables "
    "load_checkpoint load_variable",
}
__getattr__, __dir__, __all__ = _part(
    "framework",
    PLACES,
    {
        "RecordInput": "read records with tf.data.TFRecordDataset",
        "fuse_op": "the runtime joins nodes by itself",
        "load_and_remap_matrix_initializer": "use tf.estimator.WarmStartSettings",
    },
)
