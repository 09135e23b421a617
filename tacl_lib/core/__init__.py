"""The paper's algorithms: tasks, streams, the network interface, memory, learners, metrics.

In: images of a dataset. Out: training steps, and numbers that say how much was forgotten. Nothing here knows how
networks are computed: a learner asks its network for gradients (see `network`), and `engine` has fast networks.
May import: data. Imported by: engine, training, runs, paper, report, teaching.
"""
