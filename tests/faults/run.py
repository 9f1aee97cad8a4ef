"""The fault campaign: see README.md.

    run.py --seed N --lane L            one episode (again)
    run.py --seconds S [--lanes A,B]    a campaign over lanes, several episodes side by side
"""

import argparse
import itertools
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "e2e" / "support")]
sys.dont_write_bytecode = True

import pytest  # noqa: E402  netns.py and others skip with it

import muster  # noqa: E402
import own_kernel  # noqa: E402
from lanes import LANES, LONG_RUNNING  # noqa: E402

EXIT_VIOLATION, EXIT_SKIPPED = 1, 77
LONGEST = 400 * muster.SLOWNESS  # seconds after which an episode itself counts as hanging


def rerun_words(lane, seed):
    return "python3 tests/faults/run.py --lane %s --seed %d" % (lane, seed)


def run_in_own_kernel(options, folder):
    """Does the same as _run_here, in a kernel of its own, whose clock may be set."""
    programs = muster.Cluster(folder)
    environment = {own_kernel.ARE_WE_INSIDE: "1", "MUSTER_BIN": str(muster.BIN.resolve()), "TMPDIR": "/run"}
    words = [sys.executable, HERE / "run.py", "--lane", options.lane, "--seed", options.seed, "--folder",
             folder / "episode"]
    try:
        code, output = own_kernel.boot(programs, words, environment, LONGEST)
    finally:
        programs.close()
    print(output, end="")
    return EXIT_VIOLATION if code is None else code


def run_episode(options):
    """Runs one episode and prints the result; returns its exit code."""
    from episode import Episode
    muster.become_subreaper()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the cleanup runs
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    options.seed = seed
    folder = pathlib.Path(options.folder or tempfile.mkdtemp(prefix="muster-faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    print("lane %s seed %d" % (options.lane, seed), flush=True)
    try:
        if LANES[options.lane].way == "clock" and os.environ.get(own_kernel.ARE_WE_INSIDE) != "1":
            if shutil.which(own_kernel.KERNEL) is None:
                pytest.skip("no %s: it comes with Debian's user-mode-linux" % own_kernel.KERNEL)
            code = run_in_own_kernel(options, folder)
            outcome = None
        else:
            outcome = Episode(folder, options.lane, seed, options.seconds or 60).run()
            code = EXIT_VIOLATION if outcome.violations else 0
    except pytest.skip.Exception as reason:
        print("skipped: %s" % reason)
        code, outcome = EXIT_SKIPPED, None
    if outcome is not None:
        print(outcome.summary)
        if outcome.violations or options.keep:
            (folder / "timeline.txt").write_text(outcome.timeline + "\n")
            print(outcome.timeline)
        for violation in outcome.violations:
            print("VIOLATION: " + violation)
    if code == EXIT_VIOLATION or options.keep:
        print("kept: %s\nrun it again: %s" % (folder, rerun_words(options.lane, seed)))
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return code


class Running:
    """An episode in a process of its own, with its output in a file."""

    def __init__(self, lane, seed, folder, seconds=None):
        self.lane, self.seed, self.begin = lane, seed, time.monotonic()
        self.bound = LONGEST + (seconds or 0)
        self.output = folder / ("%s-%d.txt" % (lane, seed))
        words = [sys.executable, HERE / "run.py", "--lane", lane, "--seed", seed, "--folder",
                 self.output.with_suffix("")]
        words += ["--seconds", seconds] if seconds else []
        with open(self.output, "wb") as output:
            self.popen = subprocess.Popen([str(word) for word in words], stdout=output, stderr=subprocess.STDOUT)

    def code(self):
        """Returns None while it runs."""
        if self.popen.poll() is None and time.monotonic() > self.begin + self.bound:
            self.popen.terminate()
            self.popen.wait()
            return EXIT_VIOLATION
        return self.popen.returncode


def report(running, code):
    text = running.output.read_text(errors="replace").strip()
    name = "lane %s seed %d" % (running.lane, running.seed)
    if code == 0:
        summary = next((line for line in text.splitlines() if " holders of " in line), "")
        print("%s: ok: %s" % (name, summary), flush=True)
    elif code == EXIT_SKIPPED:
        print("%s: %s" % (name, text.splitlines()[-1]), flush=True)
    else:
        print("%s: FAILED (%s)\n%s\n%s" % (name, code, text, rerun_words(running.lane, running.seed)), flush=True)


def run_campaign(options):
    lanes = list(LANES) if options.lanes == "all" else options.lanes.split(",")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    chance, folder = random.Random(seed), pathlib.Path(options.folder or tempfile.mkdtemp(prefix="muster-faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    print("campaign seed %d, lanes %s, %d side by side, in %s" % (seed, ",".join(lanes), options.jobs, folder),
          flush=True)
    until = time.monotonic() + options.seconds
    long_running = [lane for lane in lanes if lane in LONG_RUNNING]
    short = [lane for lane in lanes if lane not in LONG_RUNNING]
    running = [Running(lane, chance.randrange(1 << 32), folder, max(20, int(options.seconds * 0.8)))
               for lane in long_running]
    results = {0: 0, EXIT_VIOLATION: 0, EXIT_SKIPPED: 0}
    next_lane, skipped = itertools.cycle(short), set()
    try:
        while True:
            while time.monotonic() < until and set(short) - skipped and (
                    len(running) < options.jobs + len(long_running)):
                lane = next(lane for lane in next_lane if lane not in skipped)
                running.append(Running(lane, chance.randrange(1 << 32), folder))
            for one in list(running):
                code = one.code()
                if code is None:
                    continue
                running.remove(one)
                report(one, code)
                results[code if code in results else EXIT_VIOLATION] += 1
                if code == EXIT_SKIPPED:
                    skipped.add(one.lane)
                elif code == 0:
                    one.output.unlink()
            if not running and time.monotonic() >= until:
                break
            if not running and not set(short) - skipped:
                break
            time.sleep(0.1)
    finally:
        for one in running:
            one.popen.terminate()
        for one in running:
            one.popen.wait()
    print("campaign seed %d: %d episodes without a violation, %d with, %d skipped" % (
        seed, results[0], results[EXIT_VIOLATION], results[EXIT_SKIPPED]))
    if not results[EXIT_VIOLATION]:
        shutil.rmtree(folder, ignore_errors=True)
    if results[EXIT_VIOLATION]:
        return EXIT_VIOLATION
    return 0 if results[0] else EXIT_SKIPPED


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lane", choices=LANES, help="one episode of this lane")
    parser.add_argument("--lanes", default="all", help="of a campaign: names with commas, or all")
    parser.add_argument("--seed", type=int, help="of the episode or campaign; otherwise by chance, and printed")
    parser.add_argument("--seconds", type=int, help="how long new episodes are begun, or one of %s lasts" %
                        " and ".join(LONG_RUNNING))
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 2), help="episodes side by side")
    parser.add_argument("--folder", help="where everything is written (otherwise a new one in TMPDIR)")
    parser.add_argument("--keep", action="store_true", help="keeps the folder and prints the timeline in any case")
    options = parser.parse_args()
    unknown = set(options.lanes.split(",")) - set(LANES) - {"all"}
    if unknown:
        parser.error("unknown lanes %s; known: %s" % (", ".join(sorted(unknown)), ", ".join(LANES)))
    if options.lane:
        return run_episode(options)
    options.seconds = options.seconds or 300
    return run_campaign(options)


if __name__ == "__main__":
    sys.exit(main())
