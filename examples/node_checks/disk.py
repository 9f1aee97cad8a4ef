#!/usr/bin/env python3
"""Node check: whether a folder can be written and read, and how long fsync and stat take there.

    python3 disk.py --folder /checkpoints [--size_mb 16] [--max_fsync_ms 1000] [--max_stat_ms 1000] [--limit_s 20]
                    [--if_available]

Writes --size_mb MiB into a file of the folder, syncs it, drops it from the page cache, reads it and compares. Then it
times five writes of 4 KiB with an fsync each, and five looks at the folder: statvfs, which an NFS client always asks
the server, and stat. It compares the medians with the limits.
Needs write access to the folder. The file has no name, or loses it at once, so that it goes away however the check
ends.
Takes less than a second on a healthy disk, and at most --limit_s. A hung NFS server blocks a process for good, so a
child does the work, and the check ends without it.
Exit code: 0 fit, or "skipped: ..." with --if_available if the folder does not exist; 1 the folder can't be written or
read, is slow or hangs, and the last line says so; 2 wrong words.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

CHUNK = 1 << 20
TIMES = 5


def say(**facts):
    print(json.dumps(facts), flush=True)


def timed_ms(work, *arguments):
    begin = time.perf_counter()
    work(*arguments)
    return (time.perf_counter() - begin) * 1e3


def write_all(file, data):
    view = memoryview(data)
    while view:
        view = view[file.write(view):]


def write_and_sync(file, pattern, size_mb):
    for number in range(size_mb):
        write_all(file, number.to_bytes(8, "big") + pattern)
    os.fsync(file.fileno())


def compare(file, pattern, size_mb):
    file.seek(0)
    for number in range(size_mb):
        data = b""
        while len(data) < CHUNK:
            more = file.read(CHUNK - len(data))
            if not more:
                raise OSError("the file ends after %d bytes, %d were written" %
                              (number * CHUNK + len(data), size_mb * CHUNK))
            data += more
        if data != number.to_bytes(8, "big") + pattern:
            raise OSError("what is read differs from what was written, in MiB %d" % number)


def sync_small(file):
    write_all(file, bytes(4096))
    os.fsync(file.fileno())


def look(folder):
    os.statvfs(folder)
    os.stat(folder)


def work(folder, size_mb):
    """The child: prints a line of JSON before each step, and one with the result."""
    say(step="looking at it")
    stat_ms = statistics.median(timed_ms(look, folder) for _ in range(TIMES))
    say(step="creating a file")
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        pattern = os.urandom(CHUNK - 8)
        say(step="writing %d MiB" % size_mb)
        write_ms = timed_ms(write_and_sync, file, pattern, size_mb)
        say(step="reading")
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        compare(file, pattern, size_mb)
        say(step="syncing")
        fsync_ms = statistics.median(timed_ms(sync_small, file) for _ in range(TIMES))
    say(fsync_ms=fsync_ms, stat_ms=stat_ms, mb_per_s=size_mb * CHUNK / 1e3 / write_ms)


def work_and_report(words):
    try:
        work(words.folder, words.size_mb)
    except FileNotFoundError as error:
        say(failed=error.strerror, is_missing=error.filename == words.folder)
    except OSError as error:
        say(failed=error.strerror or str(error))


def run_child(words):
    """Returns the lines that the child has printed, and whether it has ended in time."""
    # The child stays in this process group, so that the agent can kill it, and holds none of the agent's pipes.
    argv = [sys.executable, os.path.abspath(__file__), "--work", "--folder", words.folder,
            "--size_mb", str(words.size_mb)]
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, is_done = child.communicate(timeout=words.limit_s)[0], True
    except subprocess.TimeoutExpired as expired:
        output, is_done = expired.output or b"", False
        child.kill()  # without effect while the kernel waits for an NFS server, so nothing may wait for the child
    return output.decode(errors="replace").splitlines(), is_done


def judge(words, lines, is_done):
    """Returns the exit code and the last line of the check."""
    facts, error = {"step": "starting Python"}, "the child printed no result"
    for line in lines:
        try:
            facts.update(json.loads(line))
        except (ValueError, TypeError):
            error = line  # the last line of a traceback
    step = facts["step"]
    if facts.get("is_missing"):
        if words.if_available:
            return 0, "skipped: %s does not exist" % words.folder
        problem = "it does not exist: mount it, or pass --if_available"
    elif not is_done:
        problem = "no answer within %g s, while %s: it may hang, see dmesg and /proc/mounts" % (words.limit_s, step)
    elif "fsync_ms" not in facts:
        problem = "%s failed: %s" % (step, facts.get("failed", error))
    elif facts["fsync_ms"] > words.max_fsync_ms:
        problem = "fsync takes %.1f ms, longer than --max_fsync_ms %g" % (facts["fsync_ms"], words.max_fsync_ms)
    elif facts["stat_ms"] > words.max_stat_ms:
        problem = "stat takes %.1f ms, longer than --max_stat_ms %g" % (facts["stat_ms"], words.max_stat_ms)
    else:
        return 0, "disk: %s: fsync %.1f ms, stat %.2f ms, writing %.0f MB/s" % (
            words.folder, facts["fsync_ms"], facts["stat_ms"], facts["mb_per_s"])
    return 1, "disk: %s: %s" % (words.folder, problem)


def main():
    parser = argparse.ArgumentParser(description="Checks whether a folder can be written and read, and how fast.")
    parser.add_argument("--folder", required=True, help="where the job writes, such as its checkpoints")
    parser.add_argument("--size_mb", type=int, default=16, help="MiB to write")
    parser.add_argument("--max_fsync_ms", type=float, default=1000, help="longest median of an fsync")
    parser.add_argument("--max_stat_ms", type=float, default=1000, help="longest median of a stat")
    parser.add_argument("--limit_s", type=float, default=20, help="longest time of the whole check")
    parser.add_argument("--if_available", action="store_true", help="if the folder does not exist: skip the check")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.size_mb < 1:
        parser.error("--size_mb must be at least 1")
    if words.work:
        work_and_report(words)
        return 0
    code, line = judge(words, *run_child(words))
    print(line, flush=True)
    os._exit(code)  # the usual end of Python could wait for the child


if __name__ == "__main__":
    sys.exit(main())
