"""Puts the packages of requirements-clients.txt before the others. Import it first; the test is skipped without them."""

import hashlib
import sys
from pathlib import Path

WANTED = Path(__file__).resolve().parents[2] / "requirements-clients.txt"
# As scripts/setup.sh names the folder.
FOLDER = Path(sys.prefix) / f"share/clients-{hashlib.sha256(WANTED.read_bytes()).hexdigest()[:12]}"
if not FOLDER.is_dir():
    print(f"skipped: {FOLDER} is missing: scripts/setup.sh --with-tests makes it")
    sys.exit(77)
sys.path.insert(0, str(FOLDER))
