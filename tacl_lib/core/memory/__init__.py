"""The cluster memory, and the policies it is compared with."""

from tacl_lib.core.memory.arrivals import ArrivalSampler
from tacl_lib.core.memory.cluster_memory import ClusterMemory
from tacl_lib.core.memory.memory import Memory, gradient_memory, sample_memory
from tacl_lib.core.memory.policies import POLICIES, Arrival, Geometry, Placement, policy_named, register_policy
from tacl_lib.core.memory.samples import Reference, Samples
from tacl_lib.core.memory.stores import Sample

__all__ = [
    "POLICIES",
    "Arrival",
    "ArrivalSampler",
    "ClusterMemory",
    "Geometry",
    "Memory",
    "Placement",
    "Reference",
    "Sample",
    "Samples",
    "gradient_memory",
    "policy_named",
    "register_policy",
    "sample_memory",
]
