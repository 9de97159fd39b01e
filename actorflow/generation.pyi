# `make names` writes this file from the marks in the sources.

from actorflow.frontends.generation import *
