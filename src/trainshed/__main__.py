"""`python -m trainshed` is the `trainshed` command."""

import sys

from trainshed.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
