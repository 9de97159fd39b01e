"""Steps of sessions: calls, nodes, plans, memory, many at once."""
