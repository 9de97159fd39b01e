# `make names` writes this file from the marks in the sources.

"""`blocking.Session`, `Server`, `LocalCluster` and `Supervisor`: the same without `await`, for scripts and plain prompts."""

from actorflow.cluster.processes.blocking_local import LocalCluster as LocalCluster
from actorflow.cluster.processes.blocking_server import Server as Server
from actorflow.engine.session.blocking import Session as Session
from actorflow.training.estimator.alternating.run import train_and_evaluate_blocking as train_and_evaluate
from actorflow.training.estimator.blocking import Estimator as Estimator
from actorflow.training.estimator.blocking import Predictor as Predictor
from actorflow.training.estimator.canned.blocking import BaselineClassifier as BaselineClassifier
from actorflow.training.estimator.canned.blocking import BaselineEstimator as BaselineEstimator
from actorflow.training.estimator.canned.blocking import BaselineRegressor as BaselineRegressor
from actorflow.training.estimator.canned.blocking import DNNClassifier as DNNClassifier
from actorflow.training.estimator.canned.blocking import DNNEstimator as DNNEstimator
from actorflow.training.estimator.canned.blocking import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from actorflow.training.estimator.canned.blocking import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from actorflow.training.estimator.canned.blocking import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor
from actorflow.training.estimator.canned.blocking import DNNRegressor as DNNRegressor
from actorflow.training.estimator.canned.blocking import LinearClassifier as LinearClassifier
from actorflow.training.estimator.canned.blocking import LinearEstimator as LinearEstimator
from actorflow.training.estimator.canned.blocking import LinearRegressor as LinearRegressor
from actorflow.training.monitored.blocking import MonitoredSession as MonitoredSession
from actorflow.training.monitored.blocking import MonitoredTrainingSession as MonitoredTrainingSession
from actorflow.training.monitored.blocking import SingularMonitoredSession as SingularMonitoredSession
from actorflow.training.supervisor.blocking import Supervisor as Supervisor

__all__ = [
    "BaselineClassifier",
    "BaselineEstimator",
    "BaselineRegressor",
    "DNNClassifier",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "Estimator",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
    "LocalCluster",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "Predictor",
    "Server",
    "Session",
    "SingularMonitoredSession",
    "Supervisor",
    "train_and_evaluate",
]
