"""The coursework: one source notebook for each set; release, solution, marking scheme and marks are made from it."""
