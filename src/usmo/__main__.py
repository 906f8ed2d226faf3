"""``python -m usmo``."""

import sys

from usmo.cli import main

if __name__ == "__main__":
    sys.exit(main())
