"""The export of the backend."""


class ActorflowExportArchive:
    """Archives of this kind are not written yet."""

    def track(self, resource: object) -> None:
        """Raises NotImplementedError: save the model as `.keras` instead."""
        raise NotImplementedError("`track` is not implemented in the actorflow backend: save the model as `.keras`.")

    def add_endpoint(self, name: str, fn: object, input_signature: object = None, **kwargs: object) -> None:
        """Raises NotImplementedError: save the model as `.keras` instead."""
        raise NotImplementedError(
            "`add_endpoint` is not implemented in the actorflow backend: save the model as `.keras`."
        )
