"""Any gradient as a candidate for a pool, its inner products computed one by one."""

import torch

from tacl_lib.engine.gradient_pool import Candidate
from tacl_lib.engine.gradients import products


def candidate_of(pool, gradient):
    along = products(gradient, pool.members, torch.float64).squeeze(1)
    return Candidate(gradient, along, products(gradient, gradient, torch.float64).flatten())
