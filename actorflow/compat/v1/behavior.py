"""The version, and the switches of TensorFlow's behaviour: there is only that of version 1."""

from __future__ import annotations

from actorflow.public import public

VERSION = "1.15.0"
"""The version of TensorFlow whose names these are."""
public("tf", of="VERSION")


@public("tf", "tf:disable_resource_variables", "tf:enable_resource_variables")
def disable_v2_behavior() -> None:
    """Does nothing: there is only the behaviour of version 1."""
