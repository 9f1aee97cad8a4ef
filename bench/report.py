"""Writes RESULTS.md: the outcome of each target, every figure, machine, versions and commands."""

import os
import pathlib
import platform
import statistics
import subprocess
import sys

FIELDS = (("seconds", "s"), ("stopped_seconds", "s to stopped"), ("restarted_seconds", "s to restarted"),
          ("join_p99_ms", "ms p99 join"), ("answer_p50_ms", "ms p50 answer"),
          ("answer_p99_ms", "ms p99 answer"), ("server_cpu_seconds", "server CPU s"), ("heartbeats", "heartbeats"),
          ("generator_cpu_seconds", "generator CPU s"), ("server_rss_mb", "server MB"), ("wire_bytes", "bytes"),
          ("pss_mb", "MB PSS"), ("cpu_percent", "% CPU"), ("start_ms", "ms start"), ("down_seconds", "s down"),
          ("rank_changes", "rank changes"), ("failed", "failed"))


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def target_rows(lines):
    return table(("what", "target", "found", "outcome"), lines)


def _figures(taken):
    rows = []
    for key, results in taken.items():
        if key.startswith("core/"):
            continue
        parts = []
        for field, unit in FIELDS:
            values = [result[field] for result in results if result.get(field) is not None]
            if values and not (field == "failed" and not any(values)):
                spread = " (%.3g–%.3g)" % (min(values), max(values)) if len(values) > 1 and field == "seconds" else ""
                parts.append("%.4g%s %s" % (statistics.median(values), spread, unit))
        if any(result.get("at_least") for result in results):
            parts.append("gave up: took longer")
        rows.append((key, len(results), ", ".join(parts)))
    return table(("measure/subject/variant", "runs", "medians (least–most)"), rows)


def _core_figures(taken):
    runs = taken.get("core/muster/plain", [])
    if not runs:
        return []
    rows = [(name, "%.4g ms" % run["ms"], "%.3g/s" % run["rate"] if run["rate"] else "")
            for name, run in runs[0].items()]
    return ["", "Core, first run:", ""] + table(("benchmark", "an iteration", "rate"), rows)


def output_of(*words):
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _version_in(python, package):
    return output_of(python, "-c", "import importlib.metadata as m; print(m.version('%s'))" % package)


def _processor():
    with open("/proc/cpuinfo") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return "%d × %s" % (os.cpu_count(), names[0] if names else platform.machine())


def _memory_gb():
    with open("/proc/meminfo") as file:
        return int(file.readline().split()[1]) / 2**20


def anywhere(command, root):
    """A command as a user would type it in the root of any clone."""
    return command.replace("%s/" % root, "").replace(str(pathlib.Path.home()), "~")


def machine(root):
    """The machine and the versions of a run, as lines of a list."""
    torch = os.environ.get("MUSTER_BENCH_TORCH_PYTHON", "")
    mindspore = os.environ.get("MUSTER_BENCH_MINDSPORE_PYTHON", "")
    versions = [
        ("commit", os.environ.get("MUSTER_BENCH_COMMIT", "")),
        ("processor", _processor()), ("memory", "%.0f GB" % _memory_gb()),
        ("kernel", platform.release()),
        ("system", platform.freedesktop_os_release().get("PRETTY_NAME", "")),
        ("compiler", output_of("c++", "--version").split("\n")[0]),
        ("gRPC", output_of("pkg-config", "--modversion", "grpc++")),
        ("somaxconn", output_of("sysctl", "-n", "net.core.somaxconn")),
        ("file limit", output_of("sh", "-c", "ulimit -Hn")),
        ("load when it began", os.environ.get("MUSTER_BENCH_LOAD", "")),
        ("etcd", output_of("etcd", "--version").split("\n")[0]),
        ("PyTorch", torch and _version_in(torch, "torch")),
        ("torchft", os.environ.get("MUSTER_BENCH_TORCHFT_VERSION", "")),
        ("MindSpore", mindspore and _version_in(mindspore, "mindspore")),
        ("Python", sys.version.split()[0]),
    ]
    return ["- %s: %s" % item for item in versions if item[1]]


def write(path, root, mode, runs, lines, results, reasons, commands, picture):
    """`runs`: a sentence: how often each was measured. `commands`: {key: [command lines of its first run]}. `picture`:
    the file name of a plot; empty: none."""
    text = ["# Results", "",
            "`bash bench/run.sh --%s` wrote this page; [README.md](README.md) explains it. %s" % (mode, runs), ""]
    text += target_rows(lines)
    text += ["", "## Machine and versions", ""] + machine(root)
    if picture:
        text += ["", "![How long a round takes, by the number of agents](%s)" % picture]
    text += ["", "## All figures", ""] + _figures(results) + _core_figures(results)
    if reasons:
        text += ["", "## Not run, or failed", ""] + ["- %s: %s" % item for item in reasons.items()]
    text += ["", "## Commands", "", "Each block has the commands of one run, without the programs that ran before:", "",
             "```"]
    text += [line for key in results
             for line in ["# " + key] + [anywhere(command, root) for command in commands.get(key, [])]]
    text += ["```", ""]
    path.write_text("\n".join(text))
