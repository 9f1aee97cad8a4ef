#include "scheduler/journal/network_fs.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_io.h"

namespace muster::scheduler {
namespace {

struct Kind {
  uint32_t magic;
  const char* name;
};
constexpr Kind kKinds[] = {
    {0x00006969, "NFS"},    {0xFF534D42, "CIFS"},     {0xFE534D42, "SMB2"},   {0x0000517B, "SMB"},
    {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"},     {0x00C36400, "Ceph"},   {0x01021997, "9P"},
    {0x5346414F, "AFS"},    {0x6B414653, "AFS"},      {0x19830326, "BeeGFS"}, {0x0000564C, "NCP"},
    {0x73757245, "Coda"},   {0x20030528, "OrangeFS"}, {0xAAD7AAEA, "PanFS"},  {0x786F4256, "vboxsf"},
    {0xBACBACBC, "vmhgfs"},
};

// The types of network file systems in the kernel's mount table. A FUSE file system may be local or remote; the ones in
// this list are remote.
constexpr const char* kTypes[] = {
    "fuse.glusterfs",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.sshfs",
    "fuse.s3fs",
    "fuse.gcsfuse",
    "fuse.rclone",
    "fuse.juicefs",
    "fuse.moosefs",
    "fuse.mfs",
    "fuse.lizardfs",
    "fuse.seaweedfs",
    "fuse.curvefs",
    "fuse.cvmfs2",
    "fuse.beegfs",
    "fuse.alluxio-fuse",
    "fuse.blobfuse",
    "fuse.blobfuse2",
    "fuse.dfuse",
    "fuse.davfs",
    "fuse.JuiceFS",
    "fuse.weka",
    "fuse.goofys",
    "fuse.mount-s3",
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "lustre",
    "gpfs",
    "ceph",
    "9p",
    "afs",
    "beegfs",
    "beegfs_nodev",
    "wekafs",
    "pvfs2",
    "panfs",
};

}  // namespace

std::string NetworkFileSystemOf(uint64_t magic) {
  // (Compare 32 bits: some systems sign-extend the number.)
  const auto low = static_cast<uint32_t>(magic);
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.magic == low; });
  return kind == std::end(kKinds) ? "" : kind->name;
}

// A line of mountinfo looks like this (proc(5)):
// "36 35 98:0 /root /mount/point rw,noatime shared:1 - ext4 /dev/sda1 rw"
std::string NetworkFileSystemIn(absl::string_view mountinfo, dev_t device) {
  const std::string wanted = absl::StrCat(major(device), ":", minor(device));
  for (const absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    const std::vector<absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<absl::string_view> before = absl::StrSplit(halves[0], ' ');
    if (before.size() < 3 || before[2] != wanted) continue;
    const std::string type(halves[1].substr(0, halves[1].find(' ')));
    return std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes) ? "" : type;
  }
  return "";
}

std::string NetworkFileSystemUnder(const std::string& folder) {
  struct statfs info {};
  if (statfs(folder.c_str(), &info) != 0) return "";
  if (std::string kind = NetworkFileSystemOf(static_cast<uint64_t>(info.f_type)); !kind.empty()) return kind;
  struct stat about {};
  if (stat(folder.c_str(), &about) != 0) return "";
  return NetworkFileSystemIn(ReadSmallFile("/proc/self/mountinfo", 64 << 20).value_or(""), about.st_dev);
}

}  // namespace muster::scheduler
