"""The actor runtime: compiled plans, the propagation state of steps, and the dispatcher that runs node tasks.

actors.py           the actors: channels that fill, nodes that fire, their tasks, and how a task runs its kernel (paper section
                    3.1)
chain.py            chains: what a device's thread goes on with after a heavy kernel, without a word to the event loop in
                    between
context.py          what a kernel may reach beside its inputs
dispatcher.py       the ready queue of an event loop, and the pump that runs node tasks from it
frames.py           frames and iterations: how tokens travel through loops and branches (paper section 4.4)
kernel_binding.py   from a node and its kernel to a plain call: `launch(*inputs)` with attributes, memory and context filled in
kernel_context.py   `kernel_context`: where kernels run: in a copy of the caller's context in which numpy warns of nothing
plan.py             the compiled plan of one device: what a step needs to know of each node, as records and counts that never
                    change
plan_building.py    `build_plan`: from the graph of a device to its plan
step.py             one step: a run from its feeds to its last task
threads.py          heavy kernels on the device's compute thread, what it goes on with (`chain`), and the order of those that
                    write variables
tokens.py           what travels along an edge: a value, or DEAD for what an untaken branch would have given (paper section 4.4)
visible_actors.py   actors that can be seen: with `PlanOptions(coalesce=False)`, and in traced runs, each node that runs or waits
                    is a named task
codegen/            regions and loops as kernels, and the compilers of their elementwise members
diagnostics/        what is observed of steps: traces, costs, waits, faults
event_loops/        event loops: the running loop, a loop that polls, a loop that its callers drive, tasks that belong to
                    an object
state/              state that outlives steps: resources, variables, and where tensors of a device lie
tape/               instructions over places, which one loop runs: what regions and loops are made of
timeline/           a trace as a picture, and what a step waited for
"""
