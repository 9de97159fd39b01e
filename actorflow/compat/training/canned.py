"""`tf.estimator`'s canned Estimators, without `await`."""

from __future__ import annotations

from actorflow.compat.training.estimator import Estimator
from actorflow.estimator.canned import models
from actorflow.public import public


@public("tf.estimator")
class DNNClassifier(models.DNNClassifierModel, Estimator):
    __doc__ = models.DNNClassifierModel.__doc__


@public("tf.estimator")
class DNNRegressor(models.DNNRegressorModel, Estimator):
    __doc__ = models.DNNRegressorModel.__doc__


@public("tf.estimator")
class LinearClassifier(models.LinearClassifierModel, Estimator):
    __doc__ = models.LinearClassifierModel.__doc__


@public("tf.estimator")
class LinearRegressor(models.LinearRegressorModel, Estimator):
    __doc__ = models.LinearRegressorModel.__doc__


@public("tf.estimator")
class DNNLinearCombinedClassifier(models.DNNLinearCombinedClassifierModel, Estimator):
    __doc__ = models.DNNLinearCombinedClassifierModel.__doc__


@public("tf.estimator")
class DNNLinearCombinedRegressor(models.DNNLinearCombinedRegressorModel, Estimator):
    __doc__ = models.DNNLinearCombinedRegressorModel.__doc__


@public("tf.estimator")
class BaselineClassifier(models.BaselineClassifierModel, Estimator):
    __doc__ = models.BaselineClassifierModel.__doc__


@public("tf.estimator")
class BaselineRegressor(models.BaselineRegressorModel, Estimator):
    __doc__ = models.BaselineRegressorModel.__doc__
