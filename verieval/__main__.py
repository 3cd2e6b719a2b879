"""``python -m verieval``."""

from verieval.cli import main

if __name__ == "__main__":
    main()
