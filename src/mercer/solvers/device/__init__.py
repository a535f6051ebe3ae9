"""Solvers on a torch device: what differs from those on the host, which call it when a problem has a device."""
