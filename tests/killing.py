"""A model that takes its process with it, as the kernel does when memory runs out."""

import os
import signal


def kill(**_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
