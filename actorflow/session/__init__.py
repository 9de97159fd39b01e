"""The client's handle to the runtime."""
