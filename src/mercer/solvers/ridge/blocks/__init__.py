"""Ridge by randomised blocks: the system of a few points at a time is solved, with momentum from one to the next."""
