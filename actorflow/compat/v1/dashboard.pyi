# `make names` writes this file from the marks in the sources.

from actorflow.frontends.dashboard.application import Dashboard as Dashboard

__all__ = [
    "Dashboard",
]
