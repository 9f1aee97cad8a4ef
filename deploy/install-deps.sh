#!/usr/bin/env bash
# Installs the Debian 12 packages that Muster needs: quietly, and only those that are missing. So it needs no network
# and no rights when all are there.
#
#   deploy/install-deps.sh           packages to build the programs
#   deploy/install-deps.sh --run     ... and PyTorch for a first job, unless the user's python3 has it
#   deploy/install-deps.sh --tests   ... and packages for the tests
#   deploy/install-deps.sh --cross   ... and packages to build for aarch64, and to run the result
#   deploy/install-deps.sh --machine ... and an emulated machine of that kind, for the tests
#   deploy/install-deps.sh --bench   ... and packages for the benchmark, to compare with and to draw with
#   deploy/install-deps.sh --docs    only the packages that build the documents' site
set -euo pipefail

packages=(g++ cmake ninja-build ccache pkg-config libgrpc++-dev libgrpc-dev protobuf-compiler protobuf-compiler-grpc
  libprotobuf-dev libabsl-dev libre2-dev libpmix-dev libssl-dev libspdlog-dev libsqlite3-dev nlohmann-json3-dev libboost-dev libgtest-dev libgmock-dev
  python3)
torch_packages=(python3-torch python3-sklearn)
test_packages=(clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev python3-pytest python3-pytest-xdist python3-venv python3-pip python3-grpcio
  python3-protobuf python3-cryptography openssl curl iptables iproute2 patch strace procps util-linux git user-mode-linux
  zsh fish prometheus chromium chromium-driver python3-selenium libmpich-dev libopenmpi-dev mpich openmpi-bin python3-mpi4py
  slurmctld slurmd slurm-client munge lintian python3-yaml busybox-static debootstrap)
cross_packages=(g++-aarch64-linux-gnu qemu-user-static)
machine_packages=(qemu-system-arm cpio)
docs_packages=(python3-venv python3-pip git)
bench_packages=(libbenchmark-dev etcd-server etcd-client python3-matplotlib python3-venv)

for option in "$@"; do
  case $option in
    --tests) packages+=("${torch_packages[@]}" "${test_packages[@]}") ;;
    --cross) packages+=("${cross_packages[@]}") ;;
    --machine) packages+=("${machine_packages[@]}") ;;
    --bench) packages+=("${bench_packages[@]}") ;;
    --docs) packages=("${docs_packages[@]}") ;;
    --run)
      if ! python3 -c 'import sklearn, torch, torch.distributed as d; assert d.is_gloo_available()' 2>/dev/null; then
        packages+=("${torch_packages[@]}")
      fi ;;
    *)
      echo "install-deps.sh: unknown option '$option'; known: --run, --tests, --cross, --machine, --bench, --docs" >&2
      exit 2 ;;
  esac
done

installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
  awk '$2 == "installed" {print $1}' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if (($(id -u) != 0)); then
  as_root=(sudo)
fi
for program in apt-get "${as_root[@]}"; do
  if ! command -v "$program" >/dev/null; then
    echo "install-deps.sh: $program was not found: install these packages of Debian 12 by hand:" \
      "${missing[*]}" >&2
    exit 1
  fi
done

echo "Installing ${#missing[@]} packages: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "${missing[@]}" </dev/null >"$log" 2>&1
}
# The package lists may be missing (a fresh container) or older than the mirror.
if ! install; then
  "${as_root[@]}" apt-get update -qq </dev/null >"$log" 2>&1 || true
  if ! install; then
    tail -n 15 "$log" >&2
    echo "install-deps.sh: apt-get could not install: ${missing[*]}. See its output above; check the network, and that" \
      "this is Debian 12 (bookworm)." >&2
    exit 1
  fi
fi
