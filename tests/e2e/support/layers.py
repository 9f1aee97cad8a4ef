"""Runs scripts in a layer over a root file system, which stays unchanged: files that the scripts install or write are
removed with the layer."""

import os
import shlex
import subprocess

import pytest

# Written files are in $layer/changes (a device there: removed from below). `own`: no other process and no network.
_ENTER = """set -eu
layer=$(mktemp -d); mount -t tmpfs none "$layer"; mkdir "$layer/changes" "$layer/work" "$layer/root"
mount -t overlay overlay -o lowerdir=%(lower)s,upperdir="$layer/changes",workdir="$layer/work" "$layer/root"
mount -t proc none "$layer/root/proc"; mount --rbind /dev "$layer/root/dev"
mount -t tmpfs none "$layer/root/run"; mount -t tmpfs none "$layer/root/tmp"
%(more)s
cat > "$layer/root/do.sh" <<'END'
set -eu
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
%(script)s
END
chroot "$layer/root" sh /do.sh
"""
_SHOW_WHAT_IS_LEFT = """cd "$layer/changes" &&
find . ! -type c '(' -name '*muster*' -o -name 'ms-*' -o -name '_ms-*' ')' | sed 's/^/left: /'
"""


def _why_not():
    if os.geteuid() != 0:
        return "mounts need root"
    probe = "d=$(mktemp -d); mount -t tmpfs none $d; mkdir $d/a $d/b $d/c; " \
            "mount -t overlay overlay -o lowerdir=/,upperdir=$d/a,workdir=$d/b $d/c"
    if subprocess.run(["unshare", "-m", "sh", "-ec", probe], stderr=subprocess.DEVNULL).returncode != 0:
        return "no overlay mounts here"
    return None


def run_in(lower, files, script, own=False, shows_what_is_left=False, timeout=120):
    """Returns the script's output; puts `files`, by name, into the root. Left: "left: …" for each path with our
    name."""
    if _why_not() is not None:
        pytest.skip(_why_not())
    more = ["cp -a %s \"$layer/root/%s\"" % (shlex.quote(str(path)), name) for name, path in files.items()]
    more += ["ip link set lo up"] if own else []
    enter = _ENTER % {"lower": lower, "more": "\n".join(more), "script": script}
    words = ["--net", "--pid", "--fork", "--kill-child"] if own else []
    done = subprocess.run(["unshare", "-m", *words, "sh", "-c", enter + (_SHOW_WHAT_IS_LEFT if shows_what_is_left else "")],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          timeout=timeout)
    assert done.returncode == 0, done.stdout
    return done.stdout
