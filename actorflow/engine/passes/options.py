"""`PlanOptions`: how a session makes its plans, and which optional passes run."""

from __future__ import annotations

from dataclasses import dataclass

from actorflow.public import public


@public("af")
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """How a session makes its plans: `Session(options=af.PlanOptions(...))`. Each switch has a default that suits most programs.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> async with af.Session(options=af.PlanOptions(coalesce=False)) as session:
        ...     print(await session.run(x + 1.0, {x: 1.0}))  # each node is a task
        2.0

    Args:
        coalesce: whether to merge runs of cheap nodes into one node. Without it each node is an asyncio task that
            carries its name.
        optimize: whether to fold constants, merge equal nodes and fuse biases, activations and updates into products.
        fuse: whether to fuse nodes, if `optimize` is set.
        jit: whether to compile loops for elementwise ops and for updates that run often (with the extra `jit`;
            otherwise without effect).
        soft_placement: whether to place a node elsewhere, and log it, where a device that it asks for has no kernel for
            it.
        lossy: whether to send only the upper 16 bits of float32 from one device to another (see `lossy_sends`).
        lower_peak: whether to run nodes in an order that takes less memory. Devices do so by themselves where their
            budget is short, and a GPU then keeps tensors in host memory between their uses (see `save_memory`).
        save_memory: False leaves the order as it is, swaps nothing, and makes nothing again, where a budget is short.
        freeze: whether the variables of a signature that does not write them become constants when it has run a few times, until
            something writes them. Last bits may change with that. Variables above 64 MiB are left out, and those of a signature
            that are above 256 MiB together, or above an eighth of the budget. Kernels may keep as much beside them.
        check_numerics: whether to run node by node, and end a step where a node made a NaN or an infinity out of finite
            numbers: the error names the node, with the user's line. It looks at each tensor, so use it only to search
            for such a node. Kernels of GPUs are not looked at.
    """

    coalesce: bool = True
    optimize: bool = True
    fuse: bool = True
    jit: bool = True
    soft_placement: bool = False
    lossy: bool = False
    lower_peak: bool = False
    save_memory: bool = True
    freeze: bool = True
    check_numerics: bool = False

    @property
    def folds(self) -> bool:
        """Whether constants are computed while a plan is made.

        Example:
            >>> af.PlanOptions(check_numerics=True).folds  # each kernel is looked at
            False
        """
        return self.optimize and not self.check_numerics

    @property
    def fuses(self) -> bool:
        """Whether one kernel may stand for several nodes.

        Example:
            >>> af.PlanOptions(optimize=False).fuses
            False
        """
        return self.fuse and self.folds

    @property
    def coalesces(self) -> bool:
        """Whether cheap nodes become a tape.

        Example:
            >>> af.PlanOptions(coalesce=False).coalesces
            False
        """
        return self.coalesce and not self.check_numerics
