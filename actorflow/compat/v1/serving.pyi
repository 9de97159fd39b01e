# `make names` writes this file from the marks in the sources.

from actorflow.frontends.grpc.server import GrpcServer as GrpcServer
from actorflow.frontends.serving.application import Application as Application
from actorflow.frontends.serving.application import app as app
from actorflow.frontends.serving.model import Batching as Batching
from actorflow.frontends.serving.model import Model as Model
from actorflow.frontends.serving.pipelines.pipeline import Pipeline as Pipeline
from actorflow.frontends.serving.pipelines.policy import StagePolicy as StagePolicy
from actorflow.frontends.serving.versions import VersionPolicy as VersionPolicy

__all__ = [
    "Application",
    "Batching",
    "GrpcServer",
    "Model",
    "Pipeline",
    "StagePolicy",
    "VersionPolicy",
    "app",
]
