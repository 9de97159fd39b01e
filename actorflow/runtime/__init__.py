"""The actor runtime: compiled plans, the propagation state of steps, and the dispatcher that runs node tasks."""
