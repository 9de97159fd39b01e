"""Other ways to start the tasks of a cluster than one command each: `af.launch.ray`, and more tasks of a cluster that runs.

live_page.py  `open_page`: the live page that a local cluster opens beside itself
ray.py        `af.launch.ray`: a cluster whose tasks are actors of Ray
scaling.py    `Scaling`: a local cluster that grows and shrinks while its sessions live
"""

from actorflow.public import public

public("af:launch")
