"""Checkpoints: where each weight lies under each naming, and how files of them are read and written."""
