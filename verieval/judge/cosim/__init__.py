"""Judging with cocotb: the bench is a Python test that drives the candidate through the simulator's interface."""
