"""The paper, literally: each method in one short file of plain PyTorch, one network at a time, nothing made fast.

Read it beside the paper: names and line numbers are those of its algorithm boxes. The lessons build these functions
step by step, and the tests hold the fast learners of `core` against them.

| file | holds |
|---|---|
| ``network`` | f(x; w), its loss (equations 1 and 2), its two kinds of gradient |
| ``sgd`` | stochastic gradient descent |
| ``sgd_lr_adapt``, ``scheduler`` | SGD with Algorithm 4, the learning-rate scheduler |
| ``agem`` | Algorithm 1: A-GEM |
| ``ogd`` | Algorithm 2: orthogonal gradient descent |
| ``memory`` | Algorithm 3: the cluster memory, and what it is compared with |
| ``ta_agem``, ``ta_ogd`` | Algorithms 1 and 2 on the memory of Algorithm 3 |
| ``bgd`` | Bayesian gradient descent |
| ``streams`` | the continuous change from one task to the next |
| ``training``, ``metrics`` | tasks in, accuracies out; accuracies in, the paper's numbers out |

In: tensors. Out: tensors. A learner has ``step(x, y)``, and ``end_task(x, y)`` if it must be told that a task is over.
Steps are functions to which every random choice is handed; only the learner classes draw.
May import: nothing. Imported by: teaching.
"""
