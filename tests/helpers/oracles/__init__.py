"""Slow, literal transcriptions of the paper's pseudo-code. Nothing here may import the library under test."""
