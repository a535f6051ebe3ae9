"""Newton's method in the space of a kernel, for any loss whose slope has no jumps, and import vectors."""
