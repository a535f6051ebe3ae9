"""Several kernels at once: their mixture, and how much of each there should be."""
