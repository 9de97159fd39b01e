"""Real processes under a supervisor that are killed, stopped and held up at random moments (`make chaos`)."""
