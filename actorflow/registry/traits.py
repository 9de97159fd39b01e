"""`Gpu`: what a device with memory of its own, such as a GPU, may do with a kernel. It stands at the kernel.

A kernel for every device is one for such a device too if it computes with `xp` alone, by functions that numpy and CuPy share, and
never looks at a value that the device is to compute. Its trait says that it does. A kernel without a trait is the CPU's, and soft
placement puts its nodes there.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """The demands of a kernel on a device with memory of its own, and its permissions.

    `host` are the positions of inputs that the kernel looks at before it launches anything, such as the shape that a tensor gets;
    they are taken from host memory, and negative ones count from the last input. `anywhere` says that the kernel hands its inputs
    on, or looks at their shapes, and takes them wherever they are. `follows` says that the host computes it where all inputs are
    small and in host memory, as shapes and rates are. `recorded` says that it launches the same for inputs of the same types and
    shapes, looks at nothing else, and makes no array of values of the host, so that its launches may be recorded and replayed.
    `apart` says that it has one output at most and calls a library that can't be recorded; its launches may be repeated.
    """

    host: tuple[int, ...] = ()
    anywhere: bool = False
    follows: bool = False
    recorded: bool = False
    apart: bool = False

    def host_inputs(self, count: int) -> frozenset[int]:
        """The positions of the host inputs of a node with `count` inputs."""
        return frozenset(p % count for p in self.host if count)

    @property
    def may_be_recorded(self) -> bool:
        """Whether its launches may be replayed."""
        return self.recorded or self.apart


LAUNCHED = Gpu()
"""The kernel only launches work."""
HANDS_ON = Gpu(anywhere=True)
ELEMENTWISE = Gpu(follows=True, recorded=True)
RECORDED = Gpu(recorded=True)
APART = Gpu(apart=True)
