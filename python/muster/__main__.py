"""python -m muster run|scheduler|ctl|ring WORDS…: runs ms-worker, ms-scheduler, ms-ctl or ms-ring with these words.

The Python that runs this module also runs the training script, even if PATH has another Python first. MS_PYTHON names
a different one."""

import os
import shutil
import sys
import sysconfig
from typing import List, Optional

PROGRAMS = {"run": "ms-worker", "scheduler": "ms-scheduler", "ctl": "ms-ctl", "ring": "ms-ring"}


def find(program: str) -> Optional[str]:
    """Returns the program's path: in this Python's folders for programs, beside this Python, or in PATH."""
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "%s_user" % os.name),
                   os.path.dirname(sys.executable)):
        path = os.path.join(folder, program)
        if os.access(path, os.X_OK):
            return path
    return shutil.which(program)


def main(words: List[str]) -> int:
    if not words or words[0] in ("-h", "--help") or words[0] not in PROGRAMS:
        said = sys.stdout if words and words[0] in ("-h", "--help") else sys.stderr
        said.write("Usage: python -m muster COMMAND WORDS...\n\n" +
                   "".join("  %-10s %s; see `python -m muster %s --help`\n" % (name, program, name)
                           for name, program in PROGRAMS.items()))
        return 0 if said is sys.stdout else 2
    program = PROGRAMS[words[0]]
    path = find(program)
    if path is None:
        sys.stderr.write("muster: %s is neither beside this Python nor in PATH: install it, or add its folder to PATH\n"
                         % program)
        return 127
    is_own = words[0] == "run" and sys.executable and not os.environ.get("MS_PYTHON")
    own = ["--python", sys.executable] if is_own else []
    os.execv(path, [path, *own, *words[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
