"""State that outlives steps: resources, variables, and where tensors of a device lie.

host_copies.py      which tensors of an asynchronous device have to be in host memory, and the copies that bring them there
kept_copies.py      `KeptCopies`: what a task keeps of the variables of others, by the number of a step
resources.py        state that outlives steps: containers of named resources (paper sections 2 and 4.7)
variable_state.py   the buffer of a variable, its snapshots, and writes that never change a value that was read
"""
