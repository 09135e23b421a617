"""The paper, literally: each method in one short file of plain PyTorch, one network at a time, not optimised.

Read it beside the paper: names are those of its algorithm boxes, and docstrings cite its equations. The lessons build
these functions step by step, and the tests compare the fast learners of `core` with them.

| file | holds |
|---|---|
| ``network`` | f(x; w), its loss (equations 1 and 2), loss gradients and model gradients |
| ``sgd`` | stochastic gradient descent |
| ``sgd_lr_adapt``, ``scheduler`` | SGD with Algorithm 4, the learning-rate scheduler |
| ``agem`` | Algorithm 1: A-GEM |
| ``ogd`` | Algorithm 2: orthogonal gradient descent |
| ``memory`` | Algorithm 3: the cluster memory, and the memories it is compared with |
| ``ta_agem``, ``ta_ogd`` | Algorithms 1 and 2 on the memory of Algorithm 3 |
| ``bgd`` | Bayesian gradient descent |
| ``streams`` | the continuous change from one task to the next |
| ``training``, ``metrics`` | from tasks to accuracies, and from accuracies to the paper's numbers |

The same things have longer names in `core`:

| here, as in the paper | in `core` |
|---|---|
| ``lr`` (η), BGD's ``eta`` | ``rate``, ``eta`` |
| ``Q``, ``P`` | ``clusters``, ``cluster_size`` (``size`` of a ``ClusterMemory``) |
| ``M``, ``S`` (what A-GEM and OGD store) | ``samples``, ``stored`` |
| ``draw()`` (M̃, the reference batch) | ``draw_reference()`` |
| ``memory.ClusterMemory`` (one pool) | ``memory.Memory`` for R runs, ``memory.ClusterMemory`` for one |

In: tensors. Out: tensors. A learner has ``step(x, y)``, and ``end_task(x, y)`` if it must be told that a task has
ended. Steps are functions that are given every random choice; only the learner classes draw random numbers.
May import: nothing. Imported by: teaching.
"""
