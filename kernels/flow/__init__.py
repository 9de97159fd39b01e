"""Kernels of control flow, functions, checks, Send and Recv.

control.py       ops that carry, order and check others, and the primitives of control flow
lists.py         the values of `variant` tensors: immutable lists of tensors, cheap to change
mutable_arrays.py  arrays and stacks that change in place (`actorflow.graph.ops.flow.mutable_arrays`)
py_func.py       call functions of Python: what goes in, what comes out, and what their errors stand for
send_recv.py     Send and Recv, which meet at the step's rendezvous, and of copies to the host's memory and back
tensor_list.py   lists of tensors (`actorflow.graph.ops.flow.lists`)
"""
