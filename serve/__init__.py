"""Engines that serve models, and the measurement of serving."""
