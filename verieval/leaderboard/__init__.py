"""Submissions that anyone can judge again: bundles, and their verification."""
