"""`import tensorflow` in a process that a program of `actorflow tf` started."""

if __name__ == "tensorflow":  # from the path, and not as a part of actorflow
    from actorflow.compat.door import open_door as _open_door

    _open_door()
