"""Ops of random numbers (`tf.random`).

distributions.py   random tensors
gamma_poisson.py   random numbers of the gamma and Poisson distributions (`tf.random_gamma`, `tf.random_poisson`)
sampling.py        the choice of a next token by its logits
stateless.py       random tensors that are functions of a seed: the same numbers in each run, session and process
                   (`tf.random.stateless_*`)
"""
