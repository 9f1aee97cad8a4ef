#!/usr/bin/env bash
# Links each program again, fully static, and runs it. So a new library that Debian has neither as an archive nor as
# headers only is found at once. The installed programs link some libraries shared, for their security updates.
#
#   deploy/wheel/static_link.sh BUILD_FOLDER [INTO]
#
# INTO gets the stripped programs; symbols/, with their debug symbols; packages, with a line for each Debian package in
# them: its name, version and processor, and its source's name and version; licenses/, with these packages'
# copyright files. A build for another processor (deploy/cross) works, too.
set -euo pipefail -f
if [[ -n ${2:-} ]]; then set -- "$1" "$(mkdir -p "$2" && cd "$2" && pwd)"; fi
cd "$1"
if [[ ! -f build.ninja ]]; then
  echo "skipped: $1 is not built by Ninja, which lists the link commands"
  exit 0
fi
into=${2:-}
to=$(mktemp -d -t muster-static.XXXXXX)
trap 'rm -rf "$to"' EXIT

cached() { sed -n "s/^$1:[A-Z]*=//p" CMakeCache.txt; }
sysroot=$(cached MUSTER_SYSROOT)  # empty: for this machine
[[ -z $sysroot ]] || sysroot=$(realpath "$sysroot")
emulator=$(cached MUSTER_EMULATOR)
strip=$(cached CMAKE_STRIP)
objcopy=$(cached CMAKE_OBJCOPY)

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
  # The linker warns about getaddrinfo, which loads the host's own libraries if they are there.
  "${words[@]}" -static -Wl,--gc-sections "-Wl,-Map=$to/$program.map" -Wl,--start-group -lssl -lcrypto -lcares -lz -lre2 -Wl,--end-group 2>"$to/log" ||
    { grep -v 'statically linked applications' "$to/log" | tail -n 20; exit 1; }
  if readelf --program-headers --wide "$to/$program" | grep -qw INTERP; then echo "$program is not static"; exit 1; fi
  if [[ $program != ms-exec ]]; then $emulator "$to/$program" --version >/dev/null; fi
  if [[ -n $into ]]; then
    mkdir -p "$into/symbols"
    "$objcopy" --only-keep-debug "$to/$program" "$into/symbols/$program.debug"
    "$strip" -o "$into/$program" "$to/$program"
    (cd "$into/symbols" && "$objcopy" --add-gnu-debuglink="$program.debug" "$into/$program")
  fi
done
[[ -n $into ]] || exit 0
set +f

# Prints the package of an archive and the root folder of its files: "PACKAGE ROOT".
package_of() {
  if [[ -n $sysroot && $1 == "$sysroot"/* ]]; then
    awk -v path="${1#"$sysroot"}" -v root="$sysroot" '$2 == path {print $1, root; exit}' "$sysroot/.muster-packages"
  else
    dpkg -S "$1" | sed -n 's/^\([^:]*\):.*/\1/p' | head -n 1
  fi
}
version_of() {  # PACKAGE ROOT
  if [[ -n $2 ]]; then
    awk -v package="$1" '$1 == package {print; exit}' "$2/.muster-versions"
  else
    dpkg-query -W -f '${Package} ${Version} ${Architecture} ${source:Package} ${source:Version}\n' "$1" | head -n 1
  fi
}
mkdir -p "$into/licenses"
{
  sed -n 's/^LOAD \(.*\.[ao]\)$/\1/p' "$to"/*.map | sort -u | xargs realpath | sort -u | while read -r archive; do
    case $archive in
      "${sysroot:-/}"/*) package_of "$archive" ;;
      "$PWD"/*) ;;  # our own
      *) package_of "$archive" ;;
    esac
  done
  for package in libspdlog-dev libfmt-dev nlohmann-json3-dev libboost1.74-dev; do  # headers only
    echo "$package $sysroot"
  done
} | sort -u | while read -r package root; do
  cp "$root/usr/share/doc/$package/copyright" "$into/licenses/$package"
  version_of "$package" "$root"
done >"$into/packages"
grep -q '^libgrpc-dev ' "$into/packages" || {
  echo "the link map does not name libgrpc-dev, so the list of packages is not complete"
  exit 1
}
