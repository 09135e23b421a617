"""Write results/reference/digests.json:  python tools/digests.py

The stored runs of the first versions carry no digest themselves and must stay as they are, byte by byte; this list
tells whether they did. Files that are in the list already keep their digest: one that differs is an error.
"""

import hashlib
import json
import sys

from tacl_lib.files import write_whole
from tacl_lib.runs.store import REFERENCE
from tacl_lib.training.record import carries_digest

manifest = REFERENCE / "digests.json"
known = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
found = {
    path.name: hashlib.sha256(path.read_bytes()).hexdigest()
    for path in sorted(REFERENCE.glob("*.parquet"))
    if not carries_digest(path)
}
changed = [name for name in known if found.get(name) != known[name]]
if changed:
    sys.exit(f"these files are not as they were: {', '.join(changed)}")
text = json.dumps(known | found, indent=0, sort_keys=True) + "\n"
write_whole(manifest, lambda part: part.write_text(text, encoding="utf-8"))
print(f"{len(found)} digests")
