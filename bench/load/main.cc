// muster_load: acts as many agents in one process, against ms-scheduler or the floor server.
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/load/load_settings.h"
#include "bench/load/measures.h"
#include "common/base/exit_codes.h"
#include "common/base/mutex_checks.h"
#include "common/net/net.h"
#include "common/sys/room.h"
#include "common/tls/grpc/client_tls.h"
#include "common/tls/grpc/credentials.h"
#include "worker_agent/session/channel.h"

namespace muster::bench {
namespace {

constexpr size_t kOtherDescriptors = 64;

int Fail(absl::string_view why) {
  std::fprintf(stderr, "muster_load: %s\n", std::string(why).c_str());
  return kExitUsage;
}

int Run(const LoadSettings& settings) {
  gpr_set_log_function([](gpr_log_func_args*) {});  // failed dials are counted instead
  RaiseDescriptorLimit();
  const size_t descriptors = DescriptorLimit();
  if (descriptors < settings.agents + kOtherDescriptors) {
    return Fail(absl::StrCat("the limit of open files is ", descriptors, ", and ", settings.agents, " agents need ",
                             settings.agents + kOtherDescriptors, ": raise it (ulimit -Hn)"));
  }
  const size_t colon = settings.target.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(settings.target.substr(colon + 1), &port) || port > 65535) {
    return Fail(absl::StrCat("--target is ", settings.target, "; expected HOST:PORT"));
  }
  const std::string host = settings.target.substr(0, colon);
  const absl::StatusOr<std::vector<IpAddress>> addresses = ResolveHost(host);
  if (!addresses.ok()) return Fail(addresses.status().message());

  static CountedLog counted(Clock::System());  // threads that outlive main may still log
  std::map<std::string, std::string> environment = ProcessEnvironment();
  const auto tls = OpenClientTls(settings.tls, PasswordFrom(environment, TlsRole::kClient), host, counted);
  if (!tls.ok()) return Fail(tls.status().message());
  const auto credentials = *tls == nullptr ? grpc::InsecureChannelCredentials()
                                           : MakeClientCredentials(*tls, host, settings.job_id, nullptr);
  const std::string target = agent::Targets(*addresses, static_cast<uint16_t>(port)).front();
  const absl::StatusOr<std::string> result = Measure(settings, target, credentials);
  if (!result.ok()) return Fail(result.status().message());
  std::printf("%s\n", result->c_str());
  std::fflush(stdout);
  return kExitSuccess;
}

int Main(const std::vector<std::string>& args) {
  StopWatchingMutexOrder();  // as the agent does
  LoadSettings settings;
  SettingsTable table = LoadSettingsTable(settings);
  const LoadResult loaded = muster::LoadSettings(table, args, {});
  if (loaded.wants_help) return std::fputs(HelpText(table).c_str(), stdout) < 0 ? kExitUsage : kExitSuccess;
  for (const std::string& error : loaded.findings.errors) std::fprintf(stderr, "muster_load: %s\n", error.c_str());
  if (!loaded.findings.errors.empty()) return kExitUsage;
  return Run(settings);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) { std::_Exit(muster::bench::Main(std::vector<std::string>(argv + 1, argv + argc))); }
