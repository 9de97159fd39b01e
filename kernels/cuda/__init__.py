"""The kernels of a GPU: which of the kernels for every device it takes, and those that it has of its own.

Importing this package needs neither a GPU nor CuPy: kernels are given their array module.

choices.py         the device type GPU, and kernels of ops that the CPU's kernels check by looking at values
compiler.py        groups of elementwise nodes as one kernel of a GPU: what the runtime asks for them
                   (`actorflow.engine.runtime.codegen.jit.LaunchCompiler`)
cross_entropy.py   the cross entropy of softmax on a GPU: one kernel for the loss and its derivative, one block for each row
random.py          random numbers drawn on a GPU: the streams that `philox` defines, so that a node draws the same numbers on
                   every device
source.py          C for the GPU from recipes: the body of a loop over elements, for CuPy's `ElementwiseKernel`
updates.py         optimizers' dense updates on a GPU: one launch each, which reads and writes the variable and its slots once
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
