"""Takes the measurements of one plan and writes RESULTS.md, results.json and the plots. run.sh builds and calls it.

    run.py --smoke|--quick|--full [--only WORD] [--budget SECONDS] [--out FOLDER] [--publish]

The sides of a pair are taken in turn, so that other load of the machine affects both. Ends with 1 when a measurement of
Muster or of the floor server failed; never because of a figure, and never because a peer is missing.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import plan
import plots
import report
import subjects
import targets
from measuring import ROOT, Failed, leave_on_sigterm

HERE = pathlib.Path(__file__).resolve().parent
_SHORT_S = 5
_QUICK_BUDGET_S = 480  # the rest of ten minutes is for starting, the last measurement and the report
OURS = ("muster", "floor", "floor-unwatched", "agents")
RUNS = {"smoke": "One run of each, at a size that only shows that everything works.",
        "quick": "Each figure is a median of 1 to 3 runs, fewer than the targets need: `--full` takes 5 to 9.",
        "full": "Each figure is a median of 5 interleaved runs: of 9 if a run takes under 5 s, of 3 if it is only for the "
                "plots."}


class Taken:
    """The results so far."""

    def __init__(self, deadline):
        self.deadline = deadline
        self.results, self.reasons, self.commands = {}, {}, {}
        self.has_failed = False

    def is_late(self):
        return time.monotonic() > self.deadline

    def take(self, key, side):
        """Takes one measurement of one side. False: don't try it again."""
        commands = []
        print("  %-46s" % key, end="", flush=True)
        try:
            result = side(commands)
        except subjects.Missing as error:
            return self.note_failure(key, str(error), is_ours=False)
        except (Failed, OSError, ValueError, subprocess.SubprocessError) as error:
            return self.note_failure(key, "failed: " + " ".join(str(error).split())[:600], key.split("/")[1] in OURS)
        self.results.setdefault(key, []).append(result)
        self.commands.setdefault(key, commands)
        shown = [(name, result[name]) for name, _ in report.FIELDS if result.get(name)][:3]
        print(", ".join("%s %.4g" % item for item in shown), flush=True)
        # (At the window's end a heartbeat may still be in progress.)
        if result.get("failed") and result.get("measure") != "heartbeat":
            return self.note_failure(key, "failed for %d" % result["failed"], key.split("/")[1] in OURS)
        return not result.get("at_least")

    def note_failure(self, key, why, is_ours):
        print("not run: %s" % why, flush=True)
        self.reasons[key] = report.anywhere(why, ROOT)
        self.has_failed = self.has_failed or is_ours
        return False

    def take_group(self, group):
        wanted, done = group.runs, 0
        sides = dict(group.sides)
        while done < wanted and sides:
            begin = time.monotonic()
            for key, side in list(sides.items()):
                if self.is_late():
                    self.reasons.setdefault(key, "the time was used up" if key not in self.results else "")
                    sides.pop(key)
                elif not self.take(key, side):
                    sides.pop(key)
            done += 1
            if done == 1 and time.monotonic() - begin < _SHORT_S * len(group.sides):
                wanted = group.short_runs
        for key in group.sides:
            if not self.reasons.get(key):
                self.reasons.pop(key, None)


def parse():
    parser = argparse.ArgumentParser()
    mode = parser.add_mutually_exclusive_group()
    for name in RUNS:
        mode.add_argument("--" + name, dest="mode", action="store_const", const=name)
    parser.add_argument("--only", default="", help="groups with a key that holds this word")
    parser.add_argument("--budget", type=float, help="no measurement begins after that many seconds")
    parser.add_argument("--out", type=pathlib.Path, help="where the results go; default: bench/results, for --smoke nowhere")
    parser.add_argument("--publish", action="store_true", help="also puts RESULTS.md and its picture into bench/")
    parser.set_defaults(mode="quick")
    return parser.parse_args()


def write_all(options, taken, results, lines):
    out = options.out or (None if options.mode == "smoke" else HERE / "results")
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    everything = {"mode": options.mode, "results": taken.results, "reasons": taken.reasons}
    (out / "results.json").write_text(json.dumps(everything, indent=1) + "\n")
    drawn = plots.draw(results, out)
    report.write(out / "RESULTS.md", ROOT, options.mode, RUNS[options.mode], lines, taken.results, taken.reasons,
                 taken.commands, plots.PICTURE if plots.PICTURE in drawn else "")
    print("Written: %s and %d plots" % (out / "RESULTS.md", len(drawn)))
    if options.publish:
        for name in ("RESULTS.md",) + ((plots.PICTURE,) if plots.PICTURE in drawn else ()):
            shutil.copyfile(out / name, HERE / name)


def main():
    options = parse()
    leave_on_sigterm()
    # Read before --publish changes the tree.
    os.environ["MUSTER_BENCH_COMMIT"] = report.output_of("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    os.environ["MUSTER_BENCH_LOAD"] = "%.2f %.2f %.2f" % os.getloadavg()
    budget = options.budget or (_QUICK_BUDGET_S if options.mode == "quick" else 1e9)
    taken = Taken(time.monotonic() + budget)
    try:
        for group in getattr(plan, options.mode)():
            if any(options.only in key for key in group.sides):
                taken.take_group(group)
    finally:
        subjects.remove_certificates()
    results = targets.Results(taken.results, taken.reasons)
    lines = [] if options.mode == "smoke" else targets.judge(results)
    if options.only:
        lines = [line for line in lines if not line.outcome.endswith(targets.ELSEWHERE)]
    if lines:
        print("\n".join([""] + report.target_rows(lines)))
    write_all(options, taken, results, lines)
    return 1 if taken.has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
