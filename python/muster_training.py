"""For training scripts under ms-worker: tell how far they are, and let others see where they stand.

    import muster_training
    muster_training.enable_stacks()
    for step, batch in enumerate(batches):
        ...
        muster_training.progress(step)

ms-worker puts this module at the end of its processes' PYTHONPATH; anywhere else a copy of the file does. It needs
nothing but Python (3.7 or later), and outside of Muster both functions do nothing. Neither ever raises.
"""

import os

# SIGRTMIN + 5 on Linux. By default it ends a process, so ms-worker sends it only to one that catches it.
STACKS_SIGNAL = 39


def progress(step: int) -> None:
    """Say that `step` (a number that changes with each step) has been reached.

    Writes and renames a small file, a fraction of a millisecond: call it once a step. A reader finds the old number or
    the new one, never half of one.
    """
    path = os.environ.get("MS_PROGRESS_FILE")
    if not path:
        return
    try:
        text = "%d" % step
        new = "%s.%d" % (path, os.getpid())
        with open(new, "w") as file:
            file.write(text)
        os.replace(new, path)
    except Exception:  # a full disk must not end a training
        pass


def enable_stacks() -> bool:
    """Let `ms-ctl` show the Python stacks of this process, also while it hangs in native code. True when it can.

    The stacks are written by faulthandler from within the process, into a file that only ms-worker reads. Not needed
    where py-spy is installed. To be called from the main program, once.
    """
    path = os.environ.get("MS_STACKS_FILE")
    if not path:
        return False
    try:
        import faulthandler

        file = open(path, "a")
        faulthandler.register(STACKS_SIGNAL, file=file, all_threads=True, chain=False)
        return True
    except Exception:
        return False
