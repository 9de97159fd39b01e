"""`tf.contrib.opt`: optimizers beside those of `tf.train`.

external.py      `ScipyOptimizerInterface`: scipy's optimizers, which call a session
weight_decay.py  optimizers that shrink weights apart from the gradients
gradients.py     optimizers that change gradients before another takes them
"""

from actorflow.compat.contrib.parts import part as _part

_RARE = (
    "AGNOptimizer",
    "AddSignOptimizer",
    "PowerSignOptimizer",
    "ElasticAverageOptimizer",
    "GGTOptimizer",
    "LARSOptimizer",
    "ShampooOptimizer",
    "RegAdagradOptimizer",
    "ModelAverageOptimizer",
    "DropStaleGradientOptimizer",
)

__getattr__, __dir__, __all__ = _part(
    "opt",
    {
        ".opt.external": "ExternalOptimizerInterface ScipyOptimizerInterface",
        ".opt.weight_decay": "AdamWOptimizer DecoupledWeightDecayExtension MomentumWOptimizer extend_with_decoupled_weight_decay",
        ".opt.gradients": "MovingAverageOptimizer NadamOptimizer AdaMaxOptimizer clip_gradients_by_global_norm "
        "MultitaskOptimizerWrapper VariableClippingOptimizer",
        "tf.train": "LazyAdamOptimizer=AdamOptimizer",
    },
    {name: "it is in no program that was found; derive it from tf.train.Optimizer" for name in _RARE},
)
