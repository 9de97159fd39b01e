"""The command `actorflow`."""
