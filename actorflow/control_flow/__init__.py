"""Branches and loops in the graph, on TensorFlow 1's primitives (paper section 4.4)."""
