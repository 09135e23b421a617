"""The cluster memory, and the policies that it is compared with."""

from tacl_lib.core.memory.alone import ClusterMemory
from tacl_lib.core.memory.arrivals import Arrivals, Sampling
from tacl_lib.core.memory.memory import Memory, gradient_memory, sample_memory
from tacl_lib.core.memory.policies import POLICIES, Arrival, Geometry, Placement, policy_named, register_policy
from tacl_lib.core.memory.samples import Reference, Samples
from tacl_lib.core.memory.stores import GradientStore, Sample, SampleStore

__all__ = [
    "POLICIES",
    "Arrival",
    "Arrivals",
    "ClusterMemory",
    "Geometry",
    "GradientStore",
    "Memory",
    "Placement",
    "Reference",
    "Sample",
    "SampleStore",
    "Samples",
    "Sampling",
    "gradient_memory",
    "policy_named",
    "register_policy",
    "sample_memory",
]
