"""The Gram matrix on a device: torch tensors, and products generated as Triton source from the kernel's program."""
