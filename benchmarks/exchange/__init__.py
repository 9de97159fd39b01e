"""Models of other makers, and other makers' training steps."""
