"""The GPU device.

device.py      the GPU device: one actor for each GPU, which owns its streams and its memory and computes with CuPy
errors.py      what errors of CUDA mean: CUDA reports an error of a kernel after its launch, to whatever call comes next
graph.py       CUDA graphs of regions: what a region launches, recorded once and replayed with one launch for each stretch
memory.py      GPU memory: CuPy's pool, counted and with a budget, and pinned buffers of the host for copies
recording.py   what a recording of launches owns and finds out, and the hooks by which a GPU's device tells it
sharing.py     tensors of a GPU for other processes of the host, by CUDA's handles: no byte of them goes through the host
streams.py     streams of one GPU, events between them, and how the host learns that a stream has come to a point
transfers.py   copies between the host, a GPU and its neighbours, each kind in a stream of its own, beside the kernels
variable.py    variables in GPU memory: reads share one snapshot, and a write goes in place only when no reader has it any more
"""

from .device import CudaDevice

__all__ = ["CudaDevice"]
