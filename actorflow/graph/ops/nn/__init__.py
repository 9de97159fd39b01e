"""Ops of neural networks: activations, convolutions, pools, normalization, losses.

activation.py           activations of neural networks, biases, and the softmax
candidate_sampling.py   samples of classes to train against when all classes are too many (`tf.nn.*_candidate_sampler`)
ctc.py                  connectionist temporal classification: labels of sequences that are not aligned in time (Graves et al.)
ctc_dense.py            the CTC loss of dense labels, with any class as the blank (`tf.compat.v1.nn.ctc_loss_v2`)
embedding.py            embeddings: rows of tables by their numbers, and weighted sums of them
fused.py                ops that stand for a few others, made by the pass `fuse`: the same result with fewer passes over memory
layers.py               what layers of neural networks are made of, as compositions of other ops: moments, dropout
losses.py               cross entropies: losses of classifiers from their logits, in forms that don't overflow
moments.py              means and variances in parts: sufficient statistics, weighted moments, and a normalization by given
                        moments
lstm.py                 the LSTM over all steps as one op (`tf.raw_ops.BlockLSTM`)
normalization.py        normalization: to a norm of 1, across channels (LRN), over batches (the fused batch norm)
sampled_losses.py       losses over many classes that look at a sample of them: noise-contrastive estimation and sampled softmax
conv/                   convolutions and what is shaped like them
pooling/                pools: the largest element or the mean of each window
"""
