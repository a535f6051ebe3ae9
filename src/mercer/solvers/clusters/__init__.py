"""Groups of points that are near each other in feature space."""
