#!/usr/bin/env bash
# Runs a job on a machine with another processor and its own kernel (Debian's), as QEMU emulates it: run.sh PROGRAMS,
# the folder of the static programs that a wheel for aarch64 has. (QEMU's emulation of single processes does not
# suffice: it lacks PR_SET_CHILD_SUBREAPER, without which nothing could end the processes that another one left.)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=$(cd "$1" && pwd)
source "$here/../../deploy/cross/own_apt.sh"
work=$own_apt_folder
trap 'rm -rf "$work"' EXIT

own_apt arm64 update
own_apt arm64 --yes --download-only install linux-image-cloud-arm64 busybox-static
mkdir -p "$work/kernel" "$work/root/bin" "$work/root/etc"
dpkg-deb --extract "$work"/archives/linux-image-6*.deb "$work/kernel"
dpkg-deb --extract "$work"/archives/busybox-static*.deb "$work/kernel"
cp "$work/kernel/bin/busybox" "$work/root/bin"
install --mode 755 "$programs"/ms-{scheduler,worker,ctl,exec} "$work/root/bin"
install "$here/init.sh" "$work/root/init"
install "$here/work.sh" "$work/root"
(cd "$work/root" && find . | cpio --quiet --create --format newc --owner 0:0 | gzip -1) >"$work/initramfs"

timeout 600 qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on -smp 2 -m 2048 -nographic -no-reboot -nic none \
  -kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/initramfs" -append "quiet panic=-1 console=ttyAMA0" </dev/null |
  tee "$work/console"
grep -q 'processor aarch64, code 0' "$work/console"
for rank in 0 1 2 3; do grep -q "rank $rank ends well" "$work/console"; done
