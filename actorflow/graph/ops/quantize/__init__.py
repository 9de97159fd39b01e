"""Ops of floats as integers of few bits.

fake_quantize.py   fake quantization: floats rounded to what a quantized value could hold, and their gradient as if they were
                   not
int8.py            products and convolutions with weights of int8: floats go in and come out, and whole numbers are multiplied
                   in between
quantize.py        floats as integers of few bits with a scale: quantize, dequantize
"""
