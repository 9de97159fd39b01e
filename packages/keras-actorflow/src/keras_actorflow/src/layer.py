"""The layer of the backend."""


class ActorflowLayer:
    """Layers need nothing of the backend."""
