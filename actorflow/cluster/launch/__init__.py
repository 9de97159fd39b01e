"""Other ways to start the tasks of a cluster than one command each."""
