"""Names of TensorFlow 1.15 that actorflow has no own counterpart of, over public names.

devices.py   `tf.DeviceSpec`
graphs.py    names of graphs and conversions: `tf.op_scope`, `tf.convert_to_tensor_or_indexed_slices`
"""
