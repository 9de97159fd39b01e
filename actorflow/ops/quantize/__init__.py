"""Ops of floats as integers of few bits.

fake_quantize.py   fake quantization: floats rounded to what a quantized value could hold, and their gradient as if they were
                   not
quantize.py        floats as integers of few bits with a scale: quantize, dequantize
"""
