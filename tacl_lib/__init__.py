"""TACL: clustering-based, task-agnostic continual learning, to learn from and to reproduce.

Data flows one way, and a module imports only what stands above it here:

    data → tasks → streams → network, gradients, memory → learners → training, record → metrics
"""

__version__ = "0.1.0"
