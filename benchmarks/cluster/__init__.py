"""Steps of several processes, and messages between them."""
