"""For training scripts under ms-worker: report their progress, and make their Python stacks visible.

    import muster_training
    muster_training.enable_stacks()
    for step, batch in enumerate(batches):
        ...
        muster_training.progress(step)

ms-worker adds this module's folder to the end of its processes' PYTHONPATH. A copy of the file works, too. It needs
only Python 3.7 or later. Outside of Muster both functions do nothing. They never raise an exception.
"""

import os

# SIGRTMIN + 5 on Linux. It ends a process that does not catch it, so ms-worker sends it only to one that does.
STACKS_SIGNAL = 39


def progress(step: int) -> None:
    """Report that the training has reached `step`, a number that changes with each step.

    Call it once per step: it takes a fraction of a millisecond. It writes a small file and renames it, so that a reader
    finds either the old number or the new one, never a part.
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
    """Let `ms-ctl` show the Python stacks of this process, even while it hangs in native code.

    Returns True if this works. On a signal of ms-worker, Python's faulthandler writes the stacks to a file that only
    ms-worker reads. Not needed if py-spy is installed. Call it once, from the main program.
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
