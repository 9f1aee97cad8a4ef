#!/usr/bin/env bash
# Links each program once more, fully static, and runs it: so that a library that has no archive in Debian, and is not
# header-only either, is found the day it comes in. What is installed links some libraries shared, for their security
# updates.
#
#   tests/tidy/static_link.sh BUILD_FOLDER
set -euo pipefail -f
cd "$1"
if [[ ! -f build.ninja ]]; then
  echo "left out: $1 is not built by Ninja, which tells the link commands"
  exit 0
fi
to=$(mktemp -d -t muster-static.XXXXXX)
trap 'rm -rf "$to"' EXIT
for program in ms-scheduler ms-worker ms-ctl ms-ring; do
  command=$(ninja -t commands "bin/$program" | tail -n 1)
  command=${command#": && "}
  command=${command%" && :"}
  words=()
  for word in $command; do
    if [[ $word == *.so ]]; then
      word=${word%.so}.a
      [[ -e $word ]] || { echo "$program links ${word%.a}.so, which has no archive: $word"; exit 1; }
    fi
    [[ $word == "bin/$program" ]] && word=$to/$program
    [[ $word == *ccache ]] && continue
    words+=("$word")
  done
  # The linker warns of getaddrinfo, which asks the host's own libraries where they are there.
  "${words[@]}" -static -Wl,--start-group -lssl -lcrypto -lcares -lz -lre2 -Wl,--end-group 2>"$to/log" ||
    { grep -v 'statically linked applications' "$to/log" | tail -n 20; exit 1; }
  if ldd "$to/$program" >/dev/null 2>&1; then echo "$program is not static"; exit 1; fi
  "$to/$program" --version >/dev/null
done
