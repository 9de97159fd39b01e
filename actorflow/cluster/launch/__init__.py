"""Other ways to start the tasks of a cluster than one command each: `af.launch.ray`."""

from actorflow.public import public

public("af:launch")
