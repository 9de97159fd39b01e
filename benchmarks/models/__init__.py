"""Whole models: training steps and inferences, each written once over the name of the library.

No figure of these is tuned by itself: they are the programs of users. All weights come from numpy with a seed, so both
sides begin with the same values and have to agree after `STEPS` steps.

- `blocks.py`: layers with weights from numpy, and the training step
- `vision.py`: VGG, ResNet, MobileNet, U-Net, LeNet
- `recurrent.py`: LSTM in a loop, with lengths and unrolled; GRU; sequence to sequence with attention
- `attention.py`: the encoder of a transformer, and a small GPT
- `embeddings.py`: word2vec with two losses, matrix factorisation, wide and deep, text CNN
- `generative.py`: autoencoder, VAE, GAN
- `dense.py`: logistic regression, MLPs, a policy and its gradient
- `numeric.py`: Gaussian process, k-means, Mandelbrot, wave equation, Runge-Kutta, FFT
- `features.py`: strings to sparse features, and a linear model of them
"""

from __future__ import annotations

from benchmarks.harness.definitions import Case, Suite
from benchmarks.models import attention, dense, embeddings, features, generative, numeric, recurrent, vision

_FAMILIES = (dense, vision, recurrent, attention, embeddings, generative, numeric, features)
TRAINING: tuple[Case, ...] = tuple(case for family in _FAMILIES for case in family.TRAINING)
INFERENCE: tuple[Case, ...] = tuple(case for family in _FAMILIES for case in family.INFERENCE)

BENCHMARKS = (
    Suite("training", TRAINING, summary=True, processes=3, nodes=True),
    Suite("inference", INFERENCE, summary=True, processes=3, nodes=True),
)
