#!/usr/bin/env bash
# Makes a folder with Debian 12's libraries for another processor, the root folder for a cross compiler. Downloads the
# packages from this machine's mirrors, and changes nothing else on this machine. A complete folder stays as it is.
#
#   deploy/cross/sysroot.sh ARCHITECTURE FOLDER     ARCHITECTURE: Debian's name, such as arm64
#
# Needs apt, dpkg-deb and a mirror that has the architecture.
set -euo pipefail
if (($# != 2)); then
  echo "usage: sysroot.sh ARCHITECTURE FOLDER" >&2
  exit 2
fi
architecture=$1
mkdir -p "$2"
into=$(cd "$2" && pwd)
packages=(libgrpc++-dev libgrpc-dev libprotobuf-dev libabsl-dev libc-ares-dev libre2-dev zlib1g-dev libssl-dev
  libsqlite3-dev libspdlog-dev nlohmann-json3-dev libboost-dev libgtest-dev libgmock-dev libc6-dev libstdc++-12-dev
  protobuf-compiler protobuf-compiler-grpc)  # the last two don't run: gRPC's CMake files ask for them

# One line says what a folder holds, so that it is made again when the list changes.
wanted="$architecture ${packages[*]}"
if [[ -f $into/.muster-sysroot && $(<"$into/.muster-sysroot") == "$wanted" ]]; then exit 0; fi

source "$(dirname "${BASH_SOURCE[0]}")/own_apt.sh"
trap 'rm -rf "$own_apt_folder"' EXIT
own_apt "$architecture" update
own_apt "$architecture" --yes --download-only install "${packages[@]}"
shopt -s nullglob
debs=("$own_apt_folder"/archives/*.deb)
if ((${#debs[@]} == 0)); then
  echo "sysroot.sh: apt has downloaded nothing for $architecture: check that the mirror has that architecture" >&2
  exit 1
fi
for deb in "${debs[@]}"; do dpkg-deb --extract "$deb" "$into"; done
# Lists the package of each file, and the versions, for the license notices of a release.
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
