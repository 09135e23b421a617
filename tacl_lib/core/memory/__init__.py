"""The memory of constant size: the paper's online clusters, its rivals, and the log of what happened."""

from tacl_lib.core.memory.events import EventLog
from tacl_lib.core.memory.memory import Memory, sample_memory
from tacl_lib.core.memory.policies import POLICIES, Geometry, Placement, policy_named
from tacl_lib.core.memory.stores import GradientStore, SampleStore

__all__ = [
    "POLICIES",
    "EventLog",
    "Geometry",
    "GradientStore",
    "Memory",
    "Placement",
    "SampleStore",
    "policy_named",
    "sample_memory",
]
