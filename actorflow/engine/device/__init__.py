"""The interface of devices, and how the core finds them.

base.py        `Device`: what owns memory and runs kernels (paper section 3); what asynchronous and swapping devices add
installed.py   the types of devices that are installed: by name, and what a type that is not there is refused with
memory.py      buffers whose last use can be told: the arrays made over a buffer are the bases of all their views
sharing.py     memory that other processes of the host may read
"""
