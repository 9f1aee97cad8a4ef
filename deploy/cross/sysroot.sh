#!/usr/bin/env bash
# The libraries of Debian 12 for another processor, as a folder that a cross compiler takes for its root. Downloads them
# as this machine's apt would, and touches nothing of this machine; what is there already stays.
#
#   deploy/cross/sysroot.sh ARCHITECTURE FOLDER     ARCHITECTURE as Debian says it: arm64
#
# Needs apt, dpkg-deb and a mirror that has the architecture.
set -euo pipefail
if (($# != 2)); then
  echo "sysroot.sh: wants ARCHITECTURE FOLDER" >&2
  exit 2
fi
architecture=$1
mkdir -p "$2"
into=$(cd "$2" && pwd)
packages=(libgrpc++-dev libgrpc-dev libprotobuf-dev libabsl-dev libc-ares-dev libre2-dev zlib1g-dev libssl-dev
  libsqlite3-dev libspdlog-dev nlohmann-json3-dev libboost-dev libgtest-dev libgmock-dev libc6-dev libstdc++-12-dev
  protobuf-compiler protobuf-compiler-grpc)  # these two are not run: gRPC's CMake files ask for them

# One line for what a folder holds: so a changed list makes it anew.
wanted="$architecture ${packages[*]}"
if [[ -f $into/.muster-sysroot && $(<"$into/.muster-sysroot") == "$wanted" ]]; then exit 0; fi

source "$(dirname "${BASH_SOURCE[0]}")/own_apt.sh"
trap 'rm -rf "$own_apt_folder"' EXIT
own_apt "$architecture" update
own_apt "$architecture" --yes --download-only install "${packages[@]}"
shopt -s nullglob
debs=("$own_apt_folder"/archives/*.deb)
if ((${#debs[@]} == 0)); then
  echo "sysroot.sh: apt has downloaded nothing for $architecture" >&2
  exit 1
fi
for deb in "${debs[@]}"; do dpkg-deb --extract "$deb" "$into"; done
# Whose which file is, and the versions, for the notices of a release.
for deb in "${debs[@]}"; do
  name=$(dpkg-deb --field "$deb" Package)
  dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -n "s#^\.\(/.*[^/]\)\$#$name \1#p"
done >"$into/.muster-packages"
for deb in "${debs[@]}"; do
  dpkg-deb --show --showformat '${Package} ${Version} ${Architecture} ${source:Package} ${source:Version}\n' "$deb"
done >"$into/.muster-versions"
# An absolute link would lead out of the folder.
find "$into" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
  ln -sfn "$(realpath -m --relative-to "$(dirname "$link")" "$into$target")" "$link"
done
printf '%s\n' "$wanted" >"$into/.muster-sysroot"
