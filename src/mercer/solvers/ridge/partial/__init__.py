"""Ridge by a factor of some of the points, and iterations for the others."""
