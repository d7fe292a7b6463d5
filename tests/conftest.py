"""Settings of all Python tests."""

from __future__ import annotations

import signal

# Background jobs, `nohup` and some CI systems ignore these signals, and child processes inherit
# that. Tests send them to child processes.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
