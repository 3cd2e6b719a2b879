"""Tests, and the helpers that they share (a package of the same name may be installed, so this is one too)."""
