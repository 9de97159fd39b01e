"""Kernels of floats as integers of few bits.

fake_quantize.py   fake quantization, in the arithmetic of float32 throughout, as in TensorFlow, so that steps are the same
quantize.py        quantization, in the arithmetic of float32 throughout, as in TensorFlow, so that steps are the same
"""
