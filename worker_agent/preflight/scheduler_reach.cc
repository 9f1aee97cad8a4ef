// sched_host                                 the job's processes           what is told
//
// an address that other machines can reach   any number                    nothing
// this host's own name                       any number                    nothing: Debian's 127.0.1.1
// localhost, or another loopback address     no more than here, or not     nothing
//   or name of it                            known here
//                                            more than here                a remark: they may all be here
#include "worker_agent/preflight/scheduler_reach.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

std::string FirstLabel(const std::string& name) { return name.substr(0, name.find('.')); }

bool IsOwnName(const std::string& host, const std::string& own_name) {
  return !IpAddress::Parse(host) && !absl::StartsWithIgnoreCase(host, "localhost") &&
         absl::EqualsIgnoreCase(FirstLabel(host), FirstLabel(own_name));
}

}  // namespace

std::string LoopbackRemark(const AgentSettings& settings, const std::vector<IpAddress>& addresses, uint32_t slots,
                           const std::string& own_name) {
  const uint32_t total = settings.worker_num.value_or(0) + settings.server_num.value_or(0);
  const bool are_others_awaited = total > slots || (settings.spare && total > 0);
  const bool is_loopback =
      !addresses.empty() && std::all_of(addresses.begin(), addresses.end(),
                                        [](const IpAddress& one) { return one.is_loopback() || one.is_any(); });
  if (settings.standalone || !are_others_awaited || !is_loopback || IsOwnName(settings.sched_host, own_name)) return "";
  return absl::StrCat("sched_host (MS_SCHED_HOST) is ", settings.sched_host,
                      ", which means this machine on every node, and the job has ", total,
                      total == 1 ? " process" : " processes", ", ", slots,
                      " of them here: agents on other machines can't join it. Give every node the name or address of "
                      "one machine with --sched_host; where all agents run on this machine, nothing is wrong");
}

}  // namespace muster::agent
