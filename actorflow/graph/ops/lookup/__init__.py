"""Ops of lookup tables (`tf.lookup`): handles, and what is asked of a table. `actorflow.lookup` has the classes.

The handle is a reference of type `resource`; a table lives on its device, under its container and name, as a queue does.
"""
