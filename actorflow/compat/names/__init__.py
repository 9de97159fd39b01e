"""Names of TensorFlow 1.15 that actorflow has no own counterpart of, over public names.

boxes.py            choices of boxes and measures of images
config/             `tf.config`
devices.py          `tf.DeviceSpec`
distributions/      `tf.distributions`
functions.py        functions under no own name
graphs.py           names of graphs and conversions
libraries.py        libraries in C++, which can't be loaded
numerics.py         names of `tf.linalg` and of networks over volumes
refused.py          names that are refused, each with the reason
resource_loader.py  `tf.resource_loader`
signal.py           windows, frames, and transforms of time to frequency
switches.py         switches between behaviours
sysconfig.py        `tf.sysconfig`
training.py         names of training and of networks
versions.py         `tf.version`
"""
