// The folders of the machine's own files and tools. A test can replace them.
#pragma once

#include <map>
#include <string>

#include "common/sys/private_folder.h"

namespace muster::agent {

struct HostRoots {
  std::string etc = "/etc";
  std::string dev = "/dev";
  std::string sys = "/sys";
  std::string proc = "/proc";
  std::string tools;  // the folder of hccn_tool and similar tools; empty: the folders of PATH
  std::string driver = "/usr/local/Ascend/driver";
};

// Returns the folders. MUSTER_HOST_ROOT=FOLDER, for tests, replaces them by FOLDER/etc, FOLDER/dev, … (tools by
// FOLDER/bin). For root the variable counts only if no other user can write to FOLDER.
inline HostRoots RootsFrom(const std::map<std::string, std::string>& environment) {
  const auto found = environment.find("MUSTER_HOST_ROOT");
  if (found == environment.end() || found->second.empty()) return {};
  const std::string& root = found->second;
  if (geteuid() == 0 && !OpenFolder(root, {FolderTrust::kTrusted}).ok()) return {};
  return {root + "/etc", root + "/dev", root + "/sys", root + "/proc", root + "/bin", root + "/driver"};
}

}  // namespace muster::agent
