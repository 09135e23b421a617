"""What people look at: tables, figures, the report, and the reproduction that makes them.

In: stored runs and the paper's numbers. Out: files in ``build/`` and ``figures/``.
May import: data, core, training, runs, paper. Imported by: teaching.
"""
