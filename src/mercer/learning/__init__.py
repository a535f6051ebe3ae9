"""Learning the kernel: length scales, grids, and the choice among kernels and penalties."""
