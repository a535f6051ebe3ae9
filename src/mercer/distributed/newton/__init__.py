"""Newton's method over partitions: values, losses and features of blocks, and minima from samples first."""
