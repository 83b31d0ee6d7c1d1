"""`python -m bayeseval`."""

import sys

from bayeseval.cli import main

if __name__ == "__main__":
    sys.exit(main())
