"""What the paper printed, as data, and our results beside it.

In: stored runs. Out: cells (our number, the paper's, the difference), claims with a verdict, readings of open settings.
May import: data, core, engine, training, runs. Imported by: report, teaching.
"""
