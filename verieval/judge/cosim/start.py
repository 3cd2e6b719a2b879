"""Called inside the simulator before cocotb begins: see ``PYGPI_USERS`` in :mod:`verieval.judge.cosim.python`."""

import cocotb.simulator


def prepare() -> None:
    """Hide packages from cocotb.

    It lists them when it begins, for the sake of ``cocotb.packages``, and dies of the names that Icarus 12 gives to
    what is inside. No bench has a use for the packages of a design that it has never seen.
    """
    setattr(cocotb.simulator, "package_iterate", lambda: None)  # noqa: B010  typed as a function that finds some
