"""Speed and memory against plain implementations, as ratios of one run: ``python -m bench``."""
