"""`tf.test`: test cases with a session of their own, and what tests ask of the machine.

assertions.py    absl's assertions about containers, orders and structures
benchmarks.py    `Benchmark`: operations that are timed; `StubOutForTesting`: attributes that are replaced for a while
case.py          `TestCase`: a graph of its own and fixed seeds for each test, and sessions
comparisons.py   what a test case compares: arrays, numbers, messages, errors
gradients.py     slopes of a graph beside those of differences
program.py       folders, devices, clusters, equal graphs
threads.py       threads whose failure is one of the test
"""
