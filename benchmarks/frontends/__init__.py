"""Serving and the live page."""
