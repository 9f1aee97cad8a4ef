#!/usr/bin/env bash
# Builds a release from a commit into ./dist: the Debian package, a wheel, its bill of materials (SBOM), debug symbols,
# and checksums. The same commit on the same Debian gives the same bytes: times are the commit's, paths don't show, and
# the version is that of common/base/version.h.
#
#   deploy/release.sh                 builds the commit HEAD; refuses a tree with uncommitted changes
#   deploy/release.sh --build FOLDER  packs the programs that are built there already
#   … --into FOLDER                   puts the release there, not into ./dist
#   … --processor aarch64             builds for that processor (cross-compiling), without the Debian package
#   … --sources yes                   adds the sources of the C library and of Muster: the C library's licence asks to
#                                     give them along with the wheel
#   … -- WORDS                        passes WORDS to cpack
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=
dist=$root/dist
processor=$(uname -m)
sources=no
while (($# > 0)); do
  case $1 in
    --build) build=$(cd "$2" && pwd) ;;
    --into) dist=$2 ;;
    --processor) processor=$2 ;;
    --sources) sources=$2 ;;
    --) shift; break ;;
    *) echo "release.sh: unknown option '$1'; known: --build FOLDER, --into FOLDER, --processor NAME, --sources yes, --" >&2
      exit 2 ;;
  esac
  shift 2
done
if [[ $processor != "$(uname -m)" && $processor != aarch64 ]]; then
  echo "release.sh: --processor must be $(uname -m), this machine's, or aarch64" >&2
  exit 2
fi

work=$(mktemp -d -t muster-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
umask 022

if [[ -z $build ]]; then
  if [[ -n $(git -C "$root" status --porcelain --untracked-files=no) ]]; then
    echo "release.sh: the tree has uncommitted changes, but a release is built from a commit: commit or stash them" >&2
    exit 1
  fi
  mkdir "$work/source"
  git -C "$root" archive HEAD | tar -x -C "$work/source"
  build=$work/build
  cross=()
  if [[ $processor != "$(uname -m)" ]]; then
    bash "$root/deploy/install-deps.sh" --cross
    bash "$root/deploy/cross/sysroot.sh" arm64 "$build/sysroot"
    cross=("-DCMAKE_TOOLCHAIN_FILE=$work/source/deploy/cross/$processor.cmake")
  fi
  cmake -S "$work/source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=OFF "${cross[@]}" \
    -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$work/source=. -ffile-prefix-map=$build=build" >/dev/null
  cmake --build "$build" --parallel "$(nproc)"
fi

mkdir -p "$dist" "$work/packed"
dist=$(cd "$dist" && pwd)
if [[ $processor == "$(uname -m)" ]]; then
  (cd "$work/packed" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packed" "$@" >"$work/log" 2>&1) || {
    tail -n 20 "$work/log" >&2
    exit 1
  }
  cp "$work"/packed/*.deb "$dist"
fi
bash "$root/deploy/wheel/static_link.sh" "$build" "$work/static"
name=muster-$(sed -n 's/.*kVersion\[\] = "\(.*\)".*/\1/p' "$root/common/base/version.h")-$processor
python3 "$root/deploy/wheel/make_sbom.py" "$work/static" >"$dist/$name.cdx.json"
python3 "$root/deploy/wheel/make_wheel.py" "$work/static" "$dist" "$dist/$name.cdx.json" >/dev/null
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --directory "$work/static/symbols" \
  . | xz -T1 >"$dist/$name-symbols.tar.xz"
if [[ $sources == yes ]]; then bash "$root/deploy/wheel/sources.sh" "$work/static/packages" "$dist/$name-sources.tar"; fi
(cd "$dist" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum -- >SHA256SUMS &&
  cat SHA256SUMS)
