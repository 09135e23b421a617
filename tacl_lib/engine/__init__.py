"""Everything that exists only for speed, behind the interface of `tacl_lib.core.network`.

In: batches. Out: losses, gradients, changed weights. Each fast path is exact and is tested against a plain one.
May import: core. Imported by: training, runs, paper, teaching.
"""
