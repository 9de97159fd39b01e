"""Rewrites of the part of a graph that a run needs, each a pure function.

branches.py         branches that are never taken go: where the predicate of a Switch is a constant
coalesce.py         coalescing: convex runs of cheap nodes become one node, whose kernel is a tape
coalesce_loops.py   coalescing of loops: a while loop of cheap nodes becomes one node, whose kernel is a loop of straight-line
                    code
compile.py          the way from a graph to what each device runs: all passes, in their order
control_loops.py    loops over several devices (paper section 4.4): where their primitives go, and the small loops that keep
                    devices in step
fold.py             constant folding: what depends on constants alone is computed once, while the plan is made (paper section 5)
freeze.py           freezing: reads of variables become constants, for as long as nothing writes these variables
fusion/             fusion: one op with one kernel for several nodes
memory/             memory: how long tensors live, and passes that make a step run in less
options.py          `PlanOptions`: how a session makes its plans, and which optional passes run
order_writes.py     updates after reads: a variable is written when the users of its snapshot are done, so that the write goes
                    in place
pack_strings.py     strings stay packed from kernel to kernel, where no other consumer sees them
partition.py        partition: one subgraph a device, with Send and Recv where edges crossed (paper section 3.2.2)
pipeline.py         `Pass` and `run_passes`: a pipeline is a tuple of passes, and one driver runs, times and tells them all
"""
