"""For training scripts under ms-worker: report their progress, and make their Python stacks visible.

    import muster_training
    muster_training.enable_stacks()
    for step, batch in enumerate(batches):
        ...
        muster_training.progress(step)

ms-worker adds this module to the end of its processes' PYTHONPATH; elsewhere, a copy of the file works, too. It needs
only Python 3.7 or later. Outside of Muster both functions do nothing. Neither raises.
"""

import os

# SIGRTMIN + 5 on Linux. By default it ends a process, so ms-worker sends it only to one that catches it.
STACKS_SIGNAL = 39


def progress(step: int) -> None:
    """Report that the training has reached `step`, a number that changes with each step.

    Call it once per step: it writes and renames a small file, which takes a fraction of a millisecond. A reader finds
    the old number or the new one, never half of one.
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
    """Let `ms-ctl` show the Python stacks of this process, also while it hangs in native code.

    Returns whether that works. faulthandler writes the stacks from within the process, into a file that only ms-worker
    reads. Not needed where py-spy is installed. Call it once, from the main program.
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
