"""The devices that run kernels.

A module here implements the `Device` interface of the core for one device type: its allocator, its threads or streams,
and the running of kernels. The core finds it through the entry point group `actorflow.devices`. Modules import the core
as `from actorflow.x import y`, their siblings relatively, and no other part.

allocator.py   the host allocator: counted buffers, a budget, and reuse of large blocks; the order of axes in memory
cpu.py         the CPU device: host memory and one compute thread for heavy kernels
simulated.py   A device without hardware: numpy computes, but memory budget and clock are its own
cuda/          the GPU device
"""

if not __name__.startswith("actorflow."):
    raise ImportError(
        f"this folder is the package actorflow.devices, not {__name__}: install the checkout (make test, or "
        "pip install -e .) and write `import actorflow.devices`"
    )
