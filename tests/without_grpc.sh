#!/usr/bin/env bash
# Prints the test programs of a configured Ninja build folder that don't link gRPC, as paths in that folder.
set -euo pipefail
folder=$1
ninja -C "$folder" -t targets all | sed -n 's#^\(bin/[a-z0-9_]*_test\): .*#\1#p' | sort -u | while read -r program; do
  link=$(ninja -C "$folder" -t commands -s "$program")
  [[ $link == *libgrpc* || $link == *libmuster_grpc* ]] || echo "$program"
done
