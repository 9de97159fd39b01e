"""What the core asks of transports; implementations are found through the entry point group `actorflow.transports`."""
