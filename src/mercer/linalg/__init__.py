"""Linear algebra: each algorithm once."""
