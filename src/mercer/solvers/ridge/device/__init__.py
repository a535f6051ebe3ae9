"""Ridge on a torch device."""
