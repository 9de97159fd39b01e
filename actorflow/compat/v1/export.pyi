# `make names` writes this file from the marks in the sources.

from actorflow.exchange.export.batch_norm import fold_scales as fold_scales
from actorflow.exchange.export.branches import fold_branches as fold_branches
from actorflow.exchange.export.constants import fold_constants as fold_constants
from actorflow.exchange.export.freezing import freeze as freeze
from actorflow.exchange.export.freezing import optimize_for_inference as optimize_for_inference
from actorflow.exchange.export.numpy_module.module import standalone as standalone
from actorflow.exchange.export.quantization.quantize import quantize as quantize
from actorflow.exchange.export.quantization.report import OutputError as OutputError
from actorflow.exchange.export.quantization.report import QuantizationReport as QuantizationReport
from actorflow.exchange.export.quantization.report import QuantizedNode as QuantizedNode

__all__ = [
    "OutputError",
    "QuantizationReport",
    "QuantizedNode",
    "fold_branches",
    "fold_constants",
    "fold_scales",
    "freeze",
    "optimize_for_inference",
    "quantize",
    "standalone",
]
