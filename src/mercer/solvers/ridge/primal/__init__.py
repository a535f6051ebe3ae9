"""Ridge in explicit features: sums over rows, and the small system they make."""
