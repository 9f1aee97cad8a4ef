#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy over the sources of the programs and of bench/.
#
#   tests/tidy/clang_tidy.sh BUILD     BUILD: a build folder of clang's (build-asan). Unity sources make it 5 times as fast
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(realpath "$1")
# Headers and sources that protoc makes.
ninja -C "$build" -t targets all | sed -nE 's/^(.*\.pb\.h): .*/\1/p' | xargs ninja -C "$build" >/dev/null || exit 1
python3 - "$build/compile_commands.json" "$root" <<'END' | xargs -P "$(nproc)" -I{} \
  clang-tidy-14 -p "$build" --quiet --config-file="$root/.clang-tidy" {} 2> >(grep -v 'warnings generated' >&2)
import json
import os
import sys

tests = (os.path.join(os.path.dirname(sys.argv[1]), "tests", ""), os.path.join(sys.argv[2], "tests", ""))
for command in json.load(open(sys.argv[1])):
    if not command["file"].endswith((".pb.cc", "page_assets.cc")) and not command["file"].startswith(tests):
        print(command["file"])
END
