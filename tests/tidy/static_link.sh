#!/usr/bin/env bash
# Links each program once more, fully static, and runs it: so that a library that has no archive in Debian, and is not
# header-only either, is found the day it comes in. What is installed links some libraries shared, for their security
# updates.
#
#   tests/tidy/static_link.sh BUILD_FOLDER [INTO]    keeps them, stripped, in INTO, and the copyright
#                                                    files of Debian's packages that they were linked of
set -euo pipefail -f
if [[ -n ${2:-} ]]; then set -- "$1" "$(mkdir -p "$2" && cd "$2" && pwd)"; fi
cd "$1"
if [[ ! -f build.ninja ]]; then
  echo "left out: $1 is not built by Ninja, which tells the link commands"
  exit 0
fi
into=${2:-}
to=$(mktemp -d -t muster-static.XXXXXX)
trap 'rm -rf "$to"' EXIT
for program in ms-scheduler ms-worker ms-ctl ms-ring ms-exec; do
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
  "${words[@]}" -static -Wl,--gc-sections "-Wl,-Map=$to/$program.map" -Wl,--start-group -lssl -lcrypto -lcares -lz -lre2 -Wl,--end-group 2>"$to/log" ||
    { grep -v 'statically linked applications' "$to/log" | tail -n 20; exit 1; }
  if ldd "$to/$program" >/dev/null 2>&1; then echo "$program is not static"; exit 1; fi
  if [[ $program != ms-exec ]]; then "$to/$program" --version >/dev/null; fi
  if [[ -n $into ]]; then strip -o "$into/$program" "$to/$program"; fi
done
if [[ -n $into ]]; then
  set +f
  mkdir -p "$into/licenses"
  sed -n 's/^LOAD \(\/.*\.a\)$/\1/p' "$to"/*.map | sort -u | xargs realpath | xargs dpkg -S | cut -d: -f1 | sort -u |
    while read -r package; do
      cp "/usr/share/doc/$package/copyright" "$into/licenses/$package"
    done
  # Headers only.
  for package in libspdlog-dev libfmt-dev nlohmann-json3-dev libboost1.74-dev; do
    cp "/usr/share/doc/$package/copyright" "$into/licenses/$package"
  done
fi
