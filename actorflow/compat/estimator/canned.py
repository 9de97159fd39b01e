"""`tf.estimator`'s canned Estimators, without `await`."""

from __future__ import annotations

from actorflow.compat.estimator.estimator import Estimator
from actorflow.public import public
from actorflow.training.estimator.canned import baseline, combined, deep, linear


@public("tf.estimator")
class DNNClassifier(deep.DNNClassifierModel, Estimator):
    __doc__ = deep.DNNClassifierModel.__doc__


@public("tf.estimator")
class DNNRegressor(deep.DNNRegressorModel, Estimator):
    __doc__ = deep.DNNRegressorModel.__doc__


@public("tf.estimator")
class LinearClassifier(linear.LinearClassifierModel, Estimator):
    __doc__ = linear.LinearClassifierModel.__doc__


@public("tf.estimator")
class LinearRegressor(linear.LinearRegressorModel, Estimator):
    __doc__ = linear.LinearRegressorModel.__doc__


@public("tf.estimator")
class DNNLinearCombinedClassifier(combined.DNNLinearCombinedClassifierModel, Estimator):
    __doc__ = combined.DNNLinearCombinedClassifierModel.__doc__


@public("tf.estimator")
class DNNLinearCombinedRegressor(combined.DNNLinearCombinedRegressorModel, Estimator):
    __doc__ = combined.DNNLinearCombinedRegressorModel.__doc__


@public("tf.estimator")
class BaselineClassifier(baseline.BaselineClassifierModel, Estimator):
    __doc__ = baseline.BaselineClassifierModel.__doc__


@public("tf.estimator")
class BaselineRegressor(baseline.BaselineRegressorModel, Estimator):
    __doc__ = baseline.BaselineRegressorModel.__doc__


@public("tf.estimator")
class DNNEstimator(deep.DNNEstimatorModel, Estimator):
    __doc__ = deep.DNNEstimatorModel.__doc__


@public("tf.estimator")
class LinearEstimator(linear.LinearEstimatorModel, Estimator):
    __doc__ = linear.LinearEstimatorModel.__doc__


@public("tf.estimator")
class DNNLinearCombinedEstimator(combined.DNNLinearCombinedEstimatorModel, Estimator):
    __doc__ = combined.DNNLinearCombinedEstimatorModel.__doc__


@public("tf.estimator")
class BaselineEstimator(baseline.BaselineEstimatorModel, Estimator):
    __doc__ = baseline.BaselineEstimatorModel.__doc__
