// Acts as N nodes towards etcd, torchft's lighthouse or JAX's coordination service and prints one line of JSON:
//
//   peer_load --subject=etcd|torchft|jax --measure=form|heartbeat --target=HOST:PORT --agents=N --server_pid=PID
//             [--window=SECONDS --interval=SECONDS]
//
// form: from the first node's connect until the last one holds its place. heartbeat: forms, then each node sends a
// heartbeat every `interval` seconds, evenly spread, for `window` seconds. It is written like Muster's own generator
// and uses the same gRPC, so that a ratio of two results compares the servers.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "bench/peers/peer_node.h"
#include "common/base/mutex_checks.h"

namespace muster::bench {
namespace {

constexpr std::chrono::seconds kPatience{120};

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// The user and system time of a process so far; 0 when it is gone.
double CpuSeconds(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double PeakMb(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

double OwnCpuSeconds() { return CpuSeconds("self"); }

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[at];
}

void RaiseFileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

bool AwaitFormed(const Tally& tally, int count) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (tally.formed() + tally.failed() < count && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return tally.formed() == count;
}

void BeatFor(double window, double interval, const std::vector<std::unique_ptr<Node>>& nodes) {
  const Clock::time_point begin = Clock::now();
  const double step = interval / static_cast<double>(nodes.size());
  for (size_t i = 0; static_cast<double>(i) * step < window; ++i) {
    std::this_thread::sleep_until(begin + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(static_cast<double>(i) * step)));
    nodes[i % nodes.size()]->Beat();
  }
}

int Main(std::map<std::string, std::string> options) {
  StopWatchingMutexOrder();  // as muster_load does
  RaiseFileLimit();
  const int count = std::atoi(options["agents"].c_str());
  const double window = std::atof(options["window"].c_str()), interval = std::atof(options["interval"].c_str());
  const bool beats = options["measure"] == "heartbeat";
  const std::string pid = options["server_pid"];
  if (count <= 0 || (beats && (window <= 0 || interval <= 0)) || PeakMb(pid) <= 0) {
    fprintf(stderr, "peer_load: --agents, --server_pid and, for heartbeats, --window and --interval are needed\n");
    return 2;
  }
  Tally tally;
  const std::map<std::string, decltype(&EtcdNodes)> subjects = {
      {"etcd", EtcdNodes}, {"torchft", TorchftNodes}, {"jax", JaxNodes}};
  const std::vector<std::unique_ptr<Node>> nodes = subjects.at(options["subject"])(options["target"], count, &tally);
  double server_cpu = CpuSeconds(pid), own_cpu = OwnCpuSeconds();
  const Clock::time_point begin = Clock::now();
  for (const auto& node : nodes) node->Join();
  const bool has_formed = AwaitFormed(tally, count);
  const double seconds = Seconds(Clock::now() - begin);
  if (!has_formed) {
    fprintf(stderr, "peer_load: %d of %d nodes hold their place after %.1f s, %d failed\n", tally.formed(), count,
            seconds, tally.failed());
    _exit(1);
  }
  if (beats) {
    BeatFor(interval, interval, nodes);  // the first heartbeats open their streams
    std::this_thread::sleep_for(std::chrono::seconds(1));
    server_cpu = CpuSeconds(pid), own_cpu = OwnCpuSeconds();
    const size_t before = tally.answers_ms().size();
    BeatFor(window, interval, nodes);
    const std::vector<double> all = tally.answers_ms();
    const std::vector<double> answers(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
    printf(
        "{\"measure\": \"heartbeat\", \"window_seconds\": %.3f, \"heartbeats\": %zu, \"answer_p50_ms\": %.3f, "
        "\"answer_p99_ms\": %.3f, ",
        window, answers.size(), Percentile(answers, 0.5), Percentile(answers, 0.99));
  } else {
    printf("{\"measure\": \"form\", \"seconds\": %.6f, ", seconds);
  }
  printf(
      "\"subject\": \"%s\", \"agents\": %d, \"slots\": 1, \"security\": \"plain\", \"failed\": %d, "
      "\"server_cpu_seconds\": %.3f, \"generator_cpu_seconds\": %.3f, \"server_rss_mb\": %.2f}\n",
      options["subject"].c_str(), count, tally.failed(), CpuSeconds(pid) - server_cpu, OwnCpuSeconds() - own_cpu,
      PeakMb(pid));
  fflush(stdout);
  _exit(0);  // thousands of connections need no orderly end
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (word.rfind("--", 0) != 0 || equals == std::string::npos) {
      fprintf(stderr, "peer_load: expected --name=value, found %s\n", argv[i]);
      return 2;
    }
    options[word.substr(2, equals - 2)] = word.substr(equals + 1);
  }
  return muster::bench::Main(std::move(options));
}
