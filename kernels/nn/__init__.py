"""Kernels of neural networks: activations, convolutions, pools, normalization, losses.

activation.py           activations, biases and the softmax
candidate_sampling.py   candidate samplers
ctc.py                  connectionist temporal classification
fractional_pool.py      pools whose windows have random sizes
fused.py                fused ops, as the chains of kernels that they stand for
lstm.py                 the LSTM over all steps, and back
normalization.py        normalization across channels and over batches
pool.py                 pools
conv/                   convolutions and what is shaped like them
"""
