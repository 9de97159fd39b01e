# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.numerics import quantize_and_dequantize as quantize_and_dequantize
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from actorflow.graph.ops.quantize.quantize import dequantize as dequantize
from actorflow.graph.ops.quantize.quantize import quantize as quantize

__all__ = [
    "dequantize",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "quantize",
    "quantize_and_dequantize",
]
