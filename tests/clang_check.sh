#!/usr/bin/env bash
# Reads every file of ours with clang and all its warnings, -Wthread-safety among them. Compiles nothing.
# The argument is a configured build folder in which the protocol's messages have been generated.
set -euo pipefail
/usr/bin/python3 - "$1" <<'PYTHON' | xargs -r -d '\n' -P "$(nproc)" -I{} bash -c '{}'
import json
import os
import shlex
import sys

build = os.path.realpath(sys.argv[1]) + "/"
with open(sys.argv[1] + "/compile_commands.json") as file:
    entries = json.load(file)
for entry in entries:
    if os.path.realpath(entry["file"]).startswith(build):
        continue  # generated
    words = shlex.split(entry["command"])
    while not words[0].endswith(("c++", "g++")):  # a compiler launcher
        words.pop(0)
    kept = []
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ("-c", "-MD") and not word.startswith("-fsanitize"):
            kept.append(word)
    line = ["clang++-14", "-fsyntax-only", "-Wthread-safety", "-Wno-unknown-warning-option"] + kept
    print("cd %s && %s" % (shlex.quote(entry["directory"]), " ".join(shlex.quote(word) for word in line)))
PYTHON
