#!/usr/bin/env bash
# Packs the sources that the C library's licence asks to give along with the static programs: this commit's, and
# Debian's source package of the C library that is linked into them.
#
#   deploy/wheel/sources.sh PACKAGES FILE     PACKAGES: the list from deploy/wheel/static_link.sh; FILE: a .tar
#
# Needs apt and a mirror that has sources.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
packages=$(realpath "$1")
file=$(realpath -m "$2")
source "$root/deploy/cross/own_apt.sh"
work=$own_apt_folder
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{parts,sources}
touch "$work/list"
# This machine's package sources, changed to give source packages.
find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.sources' -exec cat {} + 2>/dev/null |
  sed 's/^Types:.*/Types: deb-src/' >"$work/parts/sources.sources" || true
find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.list' -exec cat {} + 2>/dev/null |
  sed -n 's/^deb /deb-src /p' >"$work/list" || true
from=(-o "Dir::Etc::sourcelist=$work/list" -o "Dir::Etc::sourceparts=$work/parts")
architecture=$(dpkg --print-architecture)
own_apt "$architecture" "${from[@]}" update
cd "$work/sources"
awk '$1 == "libc6-dev" {print $4 "=" $5}' "$packages" | while read -r source; do
  own_apt "$architecture" "${from[@]}" --download-only source "$source"
done
compgen -G '*.dsc' >/dev/null || {
  echo "sources.sh: apt has no source package of the C library: check that the mirror has sources" >&2
  exit 1
}
git -C "$root" archive --prefix=muster/ HEAD >muster.tar
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git -C "$root" log -1 --format=%ct)" -- * >sources.tar
mv sources.tar "$file"
