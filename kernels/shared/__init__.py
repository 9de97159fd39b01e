"""What kernels share: threads, locks, loops over large arrays.

apart.py         two threads on two cores, also in the moments before the operating system has spread them
blas.py          how many threads a matrix product takes, decided by what the last ones cost
elementwise.py   elementwise functions of large arrays for which numpy has faster loops than the obvious ones
helping.py       A second thread for kernels of numpy, which lets other threads run while it works on large arrays
reducing.py      sums and extremes of contiguous arrays of floats, in fewer and longer inner loops than those of numpy's
                 reductions
waiter.py        what an asynchronous kernel waits on: a future that anyone may wake, from any thread or event loop
"""
