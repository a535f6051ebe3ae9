"""What tests may rely on, however they were started."""

import signal


def pytest_configure():
    """Let Ctrl-C stop tests and what they start, also in the background of a shell, which has it ignored there."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
