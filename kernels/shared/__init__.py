"""The common parts of kernels: threads, locks, loops over large arrays.

blas.py          calls of OpenBLAS: products on threads of the pool, LAPACK on one thread or as many as pay
elementwise.py   elementwise functions of large arrays for which numpy has faster loops than the obvious loops
loops.py         loops of elementwise kernels in short form
python_pool.py   threads of Python that take pieces of work where the pool in C is not there
reducing.py      sums and extremes of contiguous arrays of floats, in fewer and longer inner loops than those of numpy's
                 reductions
scipy_parts.py   compiled parts of scipy, without the packages around them
series.py        steps of prepared work, joined into a series that one call of C does
tapes.py         tapes run in C: the numbers of their instructions, and the objects that these call
thread_count.py  how many threads take the calls of some work, by what its first calls take
threads.py       work on the threads of the pool: the cores that there are, large calls, pieces in Python
waiter.py        what an asynchronous kernel waits on: a future that anyone may wake, from any thread or event loop
"""
