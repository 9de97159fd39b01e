"""`blocking.Session`, `Server`, `LocalCluster` and `Supervisor`: the same without `await`, for scripts and plain prompts."""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.blocking", __name__)
