"""Which runs there are, and how they are executed and stored.

In: settings (a `RunSpec`, a profile). Out: finished runs in a `Store`, each executed once, despite all interruptions.
May import: data, core, engine, training. Imported by: paper, report, teaching.
"""

from tacl_lib.runs.running import default_device, run
from tacl_lib.runs.spec import RunSpec, spec_from

__all__ = ["RunSpec", "default_device", "run", "spec_from"]
