"""What the core asks of devices, and how they are named."""
