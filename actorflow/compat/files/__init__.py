"""TensorFlow's functions for files, over Python's own; of this machine only.

audio.py      `tf.audio`: files of sound
gfile.py      `tf.gfile`: files and folders by TensorFlow 1's names
io_gfile.py   `tf.io.gfile`: the same by their later names
"""
