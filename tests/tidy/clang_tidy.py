#!/usr/bin/env python3
"""clang-tidy with the checks of .clang-tidy over the sources of the programs and of bench/.

    tests/tidy/clang_tidy.py BUILD        BUILD: a build folder made with clang (build-asan). Unity sources make it 5 times
                                          as fast
    tests/tidy/clang_tidy.py BUILD --all  also what has not changed

A source that was found clean is checked again only when its text, that of a header of ours that it reaches, its
compile command, the checks or clang-tidy itself have changed: the digest of all these is kept in
$XDG_CACHE_HOME/muster-clang-tidy (~/.cache). A source without a record is checked.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG_TIDY = "clang-tidy-14"
MOST_RECORDS = 5000
INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)


class Texts:
    """The files that a source reaches by includes, as far as they are in this tree or made in the build folder."""

    def __init__(self, build):
        self.places = (ROOT, build / "proto", build)
        self.reached = {}  # path: the files that its own includes name
        self.digests = {}

    def of(self, source):
        waiting, found = [source], set()
        while waiting:
            path = waiting.pop()
            if path not in found:
                found.add(path)
                waiting += self._includes_of(path)
        return sorted(found)

    def digest(self, path):
        if path not in self.digests:
            self.digests[path] = hashlib.sha256(path.read_bytes()).digest()
        return self.digests[path]

    def _includes_of(self, path):
        if path not in self.reached:
            names = [name.decode() for name in INCLUDE.findall(path.read_bytes())]
            places = (path.parent,) + self.places
            found = (next((p for p in ((place / name).resolve() for place in places) if p.is_file()), None)
                     for name in names)
            self.reached[path] = [one for one in found if one is not None]
        return self.reached[path]


def sources(build):
    """(file, command) of each source to check."""
    tests = (str(build / "tests") + "/", str(ROOT / "tests") + "/")
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if not entry["file"].endswith((".pb.cc", "page_assets.cc")) and not entry["file"].startswith(tests):
            yield pathlib.Path(entry["file"]), entry["command"]


def make_generated(build):
    """Makes the headers that protoc generates."""
    targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True)
    headers = re.findall(r"^(.*\.pb\.h): ", targets.stdout, re.M)
    subprocess.run(["ninja", "-C", build, *headers], stdout=subprocess.DEVNULL, check=True)


def look_at(build, source):
    """Returns clang-tidy's output; empty: nothing found."""
    done = subprocess.run([CLANG_TIDY, "-p", build, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", source],
                          capture_output=True, text=True, check=False)
    said = done.stdout + "\n".join(line for line in done.stderr.split("\n") if "warnings generated" not in line)
    return said.strip() or (f"{source}: {CLANG_TIDY} ended with {done.returncode}" if done.returncode != 0 else "")


def forget_old(records):
    files = sorted(records.iterdir(), key=lambda file: file.stat().st_mtime)
    for file in files[:-MOST_RECORDS]:
        file.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve(strict=True))
    parser.add_argument("--all", action="store_true", help="also what has not changed")
    options = parser.parse_args()
    make_generated(options.build)

    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    records = pathlib.Path(cache) / "muster-clang-tidy"
    records.mkdir(parents=True, exist_ok=True)
    common = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    common.update(subprocess.check_output([CLANG_TIDY, "--version"]))
    texts, waiting, known = Texts(options.build), [], 0
    for source, command in sources(options.build):
        digest = common.copy()
        # Paths are relative, so that another clone, or another place of the build folder, changes nothing.
        digest.update(command.replace(str(options.build), "BUILD").replace(str(ROOT), "ROOT").encode())
        for path in texts.of(source):
            digest.update(texts.digest(path))
        record = records / digest.hexdigest()
        if record.exists() and not options.all:
            record.touch()  # keeps the record from being deleted as old
            known += 1
        else:
            waiting.append((source, record))

    is_clean = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (source, record), said in zip(waiting, pool.map(lambda one: look_at(options.build, one[0]), waiting)):
            if said:
                print(said)
                is_clean = False
            else:
                record.touch()
    forget_old(records)
    print(f"clang-tidy: {len(waiting)} sources looked at, {known} unchanged since they were found clean")
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
