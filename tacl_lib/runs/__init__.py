"""Which runs there are, and how they are executed."""

from tacl_lib.runs.running import default_device, run
from tacl_lib.runs.spec import RunSpec, spec_from

__all__ = ["RunSpec", "default_device", "run", "spec_from"]
