# `make names` writes this file from the marks in the sources.

from actorflow.serving.application import Application as Application
from actorflow.serving.application import app as app
from actorflow.serving.batching import Batching as Batching
from actorflow.serving.model import Model as Model
from actorflow.serving.versions import VersionPolicy as VersionPolicy

__all__ = [
    "Application",
    "Batching",
    "Model",
    "VersionPolicy",
    "app",
]
