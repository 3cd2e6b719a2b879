"""Judging with a benchmark's own pytest harness, in the folders of the container that it expects, without one."""
