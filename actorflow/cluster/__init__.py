"""Clusters: which tasks there are, how they prove who they are, and how they are started and reached."""
