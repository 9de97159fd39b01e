"""Regions and loops as kernels, and the compilers of elementwise members.

background.py       work in the background, one job after the other on a thread of its own
coalesced_loop.py   the kernel of a coalesced loop: a tape with jumps, which comes back to the event loop in time
jit.py              generated loops for elementwise members of regions: who compiles them, and when
jit_groups.py       which members of a region one loop can compute together, and in which order the members run then
jit_recipe.py       what a generated loop computes, told element by element: a list of typed instructions without names or
                    shapes
launched.py         regions of a device whose kernels are only launched: their members' launches in a row, groups of them as
                    one kernel
llvm.py             llvmlite (extra `jit`): from the text of a module to machine code, without llvmlite's own builder of such
                    texts
region.py           the kernel of a region: a tape for each tuple of input shapes that it meets
series.py           which members of a region are steps of one series, and where their tensors lie
"""
