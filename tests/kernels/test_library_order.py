"""The kernel that was declared last is asked first, and modules load by name: the order has to be the measured one."""

from __future__ import annotations

import json
import subprocess
import sys

ORDER = {
    "Conv2D": ["onednn"],
    "DepthwiseConv2dNative": ["native", "onednn"],  # C for few pixels
    "DepthwiseConv2dNativeBackpropInput": ["native", "onednn"],
    "DepthwiseConv2dNativeBackpropFilter": ["native", "onednn"],
    "MatMul": ["onednn", "native"],  # C for what stays in the cache
    "_FusedMatMul": ["onednn", "native"],
    "_AddMatMul": ["onednn", "native"],
    "_SgdMatMul": ["onednn", "native"],
    "MaxPool": ["native", "onednn"],
    "MaxPoolGrad": ["native", "onednn"],
    "ApplyAdam": ["jit", "native"],
    "ApplyGradientDescent": ["jit", "native"],
}
"""The libraries in the order in which they are asked on a CPU."""

SCRIPT = """
import json, sys
import actorflow.kernels
from actorflow.base.registry import kernel
found = {op: [k.library for k in reversed(kernel.from_libraries(op)) if k.device == "CPU"] for op in json.load(sys.stdin)}
print(json.dumps(found))
"""


def test_each_op_asks_its_libraries_in_the_order_that_was_measured() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=json.dumps(list(ORDER)), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ORDER
