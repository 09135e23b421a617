"""The algorithms as the paper has them: tasks, streams, the network interface, memory, learners, metrics.

In: images of a dataset. Out: steps of learning, and numbers that say how much was forgotten. Nothing here knows how
networks are computed: a learner is handed a network (see `network`) and asks it for gradients; `engine` has fast ones.
May import: data. Imported by: engine, training, runs, paper, report, teaching.
"""
