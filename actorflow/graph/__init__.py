"""The language: nodes, graphs, tensors, the scopes under which they are made, and how they travel."""
