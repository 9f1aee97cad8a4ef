#include "bench/load/server_usage.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster::bench {

ServerUsage ReadServerUsage(uint32_t pid) {
  ServerUsage usage;
  if (pid == 0) return usage;
  std::string line;
  std::getline(std::ifstream(absl::StrCat("/proc/", pid, "/stat")), line);
  if (const size_t name_end = line.rfind(')'); name_end != std::string::npos) {
    std::istringstream fields(line.substr(name_end + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;  // the fields from state to cmajflt
    uint64_t user = 0, system = 0;
    fields >> user >> system;
    usage.cpu_seconds = static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  while (std::getline(status, line)) {
    if (line.rfind("VmHWM:", 0) == 0) usage.peak_rss_mb = std::stod(line.substr(6)) / 1024;
  }
  return usage;
}

}  // namespace muster::bench
