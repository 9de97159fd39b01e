"""Kernels of floats as integers of few bits.

fake_quantize.py   fake quantization, in the arithmetic of float32 throughout, as in TensorFlow, so that steps are the same
int8.py            products and convolutions with weights of int8
quantize.py        quantization, in the arithmetic of float32 throughout, as in TensorFlow, so that steps are the same
"""
