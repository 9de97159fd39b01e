"""Fusion: one op with one kernel for several nodes, with fewer passes over memory.

batch_products.py   sums of products as one product; of a product, the columns that somebody takes
chains.py           chains: a few ops in a row become the one op with a kernel for all of them: normalizations of layers,
                    attention, GELU
fuse.py             `fuse`: two nodes become one node, or a few cheaper nodes, by the rules of a table
match.py            `Match` and `FusionRule`: two nodes, of which one feeds the other, and what becomes of such a pair
normalization.py    a batch normalization by stored moments goes into the weights of the convolution before it
reshapes.py         reshapes move behind elementwise ops, and two in a row become one reshape
rules.py            the rules of `fuse`: which two nodes become what
"""
