#!/usr/bin/env bash
# What is given to users, made of a commit: Debian's package, a wheel and checksums, in ./dist. The same commit on the same Debian
# gives the same bytes: times are the commit's, paths don't show, and the version is that of common/base/version.h.
#
#   deploy/release.sh                 builds the commit HEAD; refuses a tree with changes
#   deploy/release.sh --build FOLDER  packs what is built there already
#   … --into FOLDER                   puts it there, not into ./dist
#   … -- WORDS                        are for cpack
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=
dist=$root/dist
while (($# > 0)); do
  case $1 in
    --build) build=$(cd "$2" && pwd) ;;
    --into) dist=$2 ;;
    --) shift; break ;;
    *) echo "release.sh: unknown option '$1'; known: --build FOLDER, --into FOLDER, --" >&2; exit 2 ;;
  esac
  shift 2
done

work=$(mktemp -d -t muster-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
umask 022

if [[ -z $build ]]; then
  if [[ -n $(git -C "$root" status --porcelain --untracked-files=no) ]]; then
    echo "release.sh: the tree has changes that are not committed, and a release is made of a commit" >&2
    exit 1
  fi
  mkdir "$work/source"
  git -C "$root" archive HEAD | tar -x -C "$work/source"
  build=$work/build
  cmake -S "$work/source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=OFF \
    -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$work/source=. -ffile-prefix-map=$build=build" >/dev/null
  cmake --build "$build" --parallel "$(nproc)"
fi

mkdir -p "$dist" "$work/packed"
(cd "$work/packed" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packed" "$@" >"$work/log" 2>&1) || {
  tail -n 20 "$work/log" >&2
  exit 1
}
cp "$work"/packed/*.deb "$dist"
bash "$root/tests/tidy/static_link.sh" "$build" "$work/static"
python3 "$root/deploy/wheel/make_wheel.py" "$work/static" "$dist" >/dev/null
(cd "$dist" && sha256sum -- *.deb *.whl >SHA256SUMS && cat SHA256SUMS)
