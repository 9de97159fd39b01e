"""`blocking.Session`, `Server`, `LocalCluster` and `Supervisor`: the same without `await`, for scripts and plain prompts."""

from __future__ import annotations

from actorflow.public import namespace

__getattr__, __dir__, __all__ = namespace("af.blocking", __name__)
