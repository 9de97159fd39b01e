"""Real processes that faults befall at random moments (`make chaos`): kills in a row, each fault over each workload, saves."""
