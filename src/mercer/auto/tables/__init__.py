"""Tables of any columns, read and turned into what kernels take."""
