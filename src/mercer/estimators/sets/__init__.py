"""Sets of classes that hold the right one with a given probability."""
