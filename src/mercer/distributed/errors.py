"""What goes wrong on a cluster."""

from __future__ import annotations


class ClusterError(RuntimeError):
    """Workers died and did not come back, or a task killed every worker it ran on."""
