"""Windows: sums of kernels over data."""
