"""A file system that can be made to hang: ext4 in a file, frozen as for a snapshot (fsfreeze)."""

import pathlib
import subprocess

import pytest


def _run(*words):
    try:
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60)
    except FileNotFoundError as error:
        pytest.skip("no file system that can be frozen: %s" % error)
    return done.returncode, done.stdout.strip()


class Disk:
    """It is mounted at .path. Skips the test if the rights or programs for it are missing."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "disk"
        self.path.mkdir()
        self._is_mounted = self._is_frozen = False
        image = pathlib.Path(folder) / "disk.img"
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        for words in (["mkfs.ext4", "-q", "-F", image], ["mount", "-o", "loop", image, self.path]):
            code, said = _run(*words)
            if code != 0:
                pytest.skip("no file system that can be frozen: %s: %s" % (words[0], said))
        self._is_mounted = True

    def freeze(self):
        code, said = _run("fsfreeze", "-f", self.path)
        if code != 0:
            pytest.skip("fsfreeze: %s" % said)
        self._is_frozen = True

    def thaw(self):
        if self._is_frozen:
            code, said = _run("fsfreeze", "-u", self.path)
            assert code == 0, said
        self._is_frozen = False

    def close(self):
        self.thaw()
        if self._is_mounted:
            _run("umount", "-l", self.path)
        self._is_mounted = False
