"""Names of TensorFlow 1.15 that actorflow has no own counterpart of, over public names.

config/             `tf.config`
devices.py          `tf.DeviceSpec`
functions.py        functions under no own name
graphs.py           names of graphs and conversions
libraries.py        libraries in C++, which can't be loaded
refused.py          names that are refused, each with the reason
resource_loader.py  `tf.resource_loader`
signal.py           windows, frames, and transforms of time to frequency
switches.py         switches between behaviours
sysconfig.py        `tf.sysconfig`
training.py         names of training and of networks
versions.py         `tf.version`
"""
