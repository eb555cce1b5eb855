"""What ends a test as one that was skipped. It imports nothing that may be missing."""

import importlib.util
import sys


def skip_without(package, who):
    if importlib.util.find_spec(package) is None:
        print(f"skipped: {who} needs {package}")
        sys.exit(77)
