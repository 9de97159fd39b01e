# `make names` writes this file from the marks in the sources.

from actorflow.export.batch_norm import fold_scales as fold_scales
from actorflow.export.branches import fold_branches as fold_branches
from actorflow.export.constants import fold_constants as fold_constants
from actorflow.export.freezing import freeze as freeze
from actorflow.export.freezing import optimize_for_inference as optimize_for_inference
from actorflow.export.numpy_module.module import standalone as standalone
from actorflow.export.quantization.quantize import quantize as quantize
from actorflow.export.quantization.report import OutputError as OutputError
from actorflow.export.quantization.report import QuantizationReport as QuantizationReport
from actorflow.export.quantization.report import QuantizedNode as QuantizedNode

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
