#include "bench/load/measures.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/load/crowd.h"
#include "bench/load/jax_start.h"
#include "bench/load/server_usage.h"
#include "muster/v1/rendezvous.grpc.pb.h"

namespace muster::bench {
namespace {

constexpr int kFetches = 9;

// Fields of one JSON object, in their order.
class Json {
 public:
  void Text(const char* name, const std::string& value) { Add(name, absl::StrCat("\"", value, "\"")); }
  void Number(const char* name, double value) { Add(name, absl::StrFormat("%.10g", value)); }
  std::string str() const { return absl::StrCat("{", fields_, "}"); }

 private:
  void Add(const char* name, const std::string& value) {
    absl::StrAppend(&fields_, fields_.empty() ? "" : ", ", "\"", name, "\": ", value);
  }
  std::string fields_;
};

// Expects sorted values. Returns 0 if there are none.
double Percentile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(part * static_cast<double>(sorted.size())))];
}

double Ms(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

class Measurement {
 public:
  Measurement(const LoadSettings& settings, const std::string& target,
              std::shared_ptr<grpc::ChannelCredentials> credentials)
      : settings_(settings), crowd_(settings, target, std::move(credentials), Clock::System()) {
    json_.Text("measure", settings.measure);
    json_.Text("subject", settings.subject);
    json_.Number("agents", settings.agents);
    json_.Number("slots", settings.slots);
    json_.Text("security", settings.tls.is_on() ? "mtls" : "plain");
  }

  absl::StatusOr<std::string> Run() {
    const ServerUsage before = ReadServerUsage(settings_.server_pid);
    crowd_.Begin();
    if (!crowd_.AwaitIn(settings_.agents, settings_.limit)) return DidNotForm();
    const ServerUsage after = ReadServerUsage(settings_.server_pid);
    if (absl::Status status = CheckRanks(); !status.ok()) return status;
    absl::Status status;
    if (settings_.measure == "form") PrintForming(before, after);
    if (settings_.measure == "heartbeat") status = Heartbeats();
    if (settings_.measure == "reconnect") status = Reconnect();
    if (settings_.measure == "jax") status = StartJax();
    if (settings_.measure == "peer_list") status = settings_.neighbours ? Neighbours() : FetchPeers();
    if (!status.ok()) return status;
    return json_.str();
  }

 private:
  // Reports to the calling script that it may act now: restart the server, or measure what the window costs.
  static void PrintReady() {
    std::printf("ready\n");
    std::fflush(stdout);
  }

  absl::Status DidNotForm() {
    std::string why;
    crowd_.Inspect([&](const Agent& agent) { why = agent.refusal().empty() ? why : agent.refusal(); },
                   [&](const Tally& tally) { why = why.empty() ? tally.last_error : why; });
    return absl::DeadlineExceededError(absl::StrCat(crowd_.CountIn(), " of ", settings_.agents,
                                                    " agents held an assignment after ",
                                                    absl::FormatDuration(settings_.limit), "; ", why));
  }

  // The floor server gives the same ranks to all, so they are checked for Muster only.
  absl::Status CheckRanks() {
    if (settings_.subject != "muster") return absl::OkStatus();
    std::vector<uint32_t> ranks;
    crowd_.Inspect([&](const Agent& agent) { ranks.insert(ranks.end(), agent.ranks().begin(), agent.ranks().end()); });
    std::sort(ranks.begin(), ranks.end());
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] != i) return absl::DataLossError(absl::StrCat("the ranks are no permutation at ", i));
    }
    return ranks.size() == size_t{settings_.agents} * settings_.slots
               ? absl::OkStatus()
               : absl::DataLossError(absl::StrCat(ranks.size(), " ranks were given"));
  }

  void PrintServer(const ServerUsage& before, const ServerUsage& after) {
    if (settings_.server_pid == 0) return;
    json_.Number("server_cpu_seconds", after.cpu_seconds - before.cpu_seconds);
    json_.Number("server_rss_mb", after.peak_rss_mb);
  }

  void PrintForming(const ServerUsage& before, const ServerUsage& after) {
    MonotonicTime first = MonotonicTime::Never(), last;
    std::vector<double> joins;
    crowd_.Inspect([&](const Agent& agent) {
      first = std::min(first, agent.begun());
      last = std::max(last, agent.assigned());
      joins.push_back(Ms(agent.welcomed() - agent.begun()));
    });
    uint64_t bytes = 0, dials = 0;
    crowd_.Inspect([](const Agent&) {},
                   [&](const Tally& tally) {
                     bytes += tally.bytes;
                     dials += tally.failed_dials;
                   });
    std::sort(joins.begin(), joins.end());
    json_.Number("seconds", absl::ToDoubleSeconds(last - first));
    PrintServer(before, after);
    json_.Number("join_p50_ms", Percentile(joins, 0.5));
    json_.Number("join_p99_ms", Percentile(joins, 0.99));
    json_.Number("wire_bytes", static_cast<double>(bytes));
    json_.Number("failed_dials", static_cast<double>(dials));
    json_.Number("failed", 0);
  }

  absl::Status Heartbeats() {
    // All agents have sent their first heartbeat after one interval; by then, the work left over from forming is done.
    absl::Duration interval = settings_.interval;
    if (interval == absl::ZeroDuration()) interval = absl::Seconds(settings_.agents > 1'000 ? 5 : 2);
    absl::SleepFor(interval);
    uint64_t broken_before = 0;
    crowd_.Inspect([](const Agent&) {}, [&](const Tally& tally) { broken_before += tally.broken; });
    const ServerUsage before = ReadServerUsage(settings_.server_pid);
    crowd_.OpenWindow(settings_.window);
    PrintReady();
    absl::SleepFor(settings_.window);
    const ServerUsage after = ReadServerUsage(settings_.server_pid);
    absl::SleepFor(absl::Seconds(1));  // for the last answers
    std::vector<double> answers;
    uint64_t sent = 0, broken = 0, bytes = 0;
    crowd_.Inspect([](const Agent&) {},
                   [&](const Tally& tally) {
                     for (const uint32_t us : tally.answer_us) answers.push_back(us / 1000.0);
                     sent += tally.sent;
                     broken += tally.broken;
                     bytes += tally.bytes;
                   });
    std::sort(answers.begin(), answers.end());
    json_.Number("window_seconds", absl::ToDoubleSeconds(settings_.window));
    json_.Number("heartbeats", static_cast<double>(answers.size()));
    json_.Number("answer_p50_ms", Percentile(answers, 0.5));
    json_.Number("answer_p99_ms", Percentile(answers, 0.99));
    json_.Number("answer_max_ms", answers.empty() ? 0 : answers.back());
    PrintServer(before, after);
    json_.Number("broken_streams", static_cast<double>(broken - broken_before));
    json_.Number("failed",
                 static_cast<double>(sent - std::min<uint64_t>(sent, answers.size()) + broken - broken_before));
    return absl::OkStatus();
  }

  absl::Status Reconnect() {
    if (settings_.restart.empty()) {
      PrintReady();
    } else if (settings_.server_pid == 0 || kill(static_cast<pid_t>(settings_.server_pid), SIGKILL) != 0) {
      return absl::InvalidArgumentError("--restart wants the --server_pid of a process that can be killed");
    } else if (std::system(settings_.restart.c_str()) != 0) {
      return absl::InternalError("the command of --restart failed");
    }
    if (settings_.restart.empty() && !crowd_.AwaitOut(settings_.limit)) {
      return absl::DeadlineExceededError("the server has not gone away");
    }
    if (!AllWereBroken() || !crowd_.AwaitIn(settings_.agents, settings_.limit)) {
      return absl::DeadlineExceededError(
          absl::StrCat(crowd_.CountIn(), " of ", settings_.agents, " sessions came back"));
    }
    MonotonicTime first = MonotonicTime::Never(), first_back = MonotonicTime::Never(), last;
    uint64_t changes = 0;
    crowd_.Inspect([&](const Agent& agent) {
      first = std::min(first, agent.broken());
      first_back = std::min(first_back, agent.assigned());
      last = std::max(last, agent.assigned());
      changes += agent.rank_changes();
    });
    json_.Number("seconds", absl::ToDoubleSeconds(last - first));
    json_.Number("storm_seconds", absl::ToDoubleSeconds(last - first_back));  // from the first back to the last
    json_.Number("rank_changes", static_cast<double>(changes));
    json_.Number("failed", static_cast<double>(changes));
    return absl::OkStatus();
  }

  bool AllWereBroken() {
    const MonotonicTime end = Clock::System().Read().monotonic + settings_.limit;
    while (Clock::System().Read().monotonic < end) {
      uint32_t broken = 0;
      crowd_.Inspect([&](const Agent& agent) { broken += agent.broken() > MonotonicTime() ? 1 : 0; });
      if (broken == settings_.agents) return true;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }

  absl::Status StartJax() {
    auto* const start = new JaxStart(settings_, crowd_, Clock::System());
    const ServerUsage before = ReadServerUsage(settings_.server_pid);
    const absl::StatusOr<absl::Duration> took = start->Run();
    const ServerUsage after = ReadServerUsage(settings_.server_pid);
    if (!took.ok()) return took.status();
    json_.Number("seconds", absl::ToDoubleSeconds(*took));
    PrintServer(before, after);
    json_.Number("failed", 0);
    return absl::OkStatus();
  }

  absl::Status Neighbours() {
    size_t largest = 0;
    crowd_.Inspect([&](const Agent& agent) { largest = std::max(largest, agent.assignment_bytes()); });
    json_.Number("wire_bytes", static_cast<double>(largest));
    json_.Number("failed", 0);
    return absl::OkStatus();
  }

  absl::Status FetchPeers() {
    std::shared_ptr<grpc::Channel> channel;
    v1::GetPeersRequest request;
    crowd_.Inspect([&](const Agent& agent) {
      channel = agent.channel();
      request.set_job_id(settings_.job_id);
      request.set_run(agent.desired().run());
      request.set_round(agent.desired().round());
    });
    const auto stub = v1::Rendezvous::NewStub(channel);
    std::vector<double> seconds;
    v1::GetPeersReply reply;
    for (int i = 0; i < kFetches; ++i) {
      grpc::ClientContext context;
      const MonotonicTime begin = Clock::System().Read().monotonic;
      const grpc::Status status = stub->GetPeers(&context, request, &reply);
      if (!status.ok()) return absl::UnavailableError(status.error_message());
      seconds.push_back(absl::ToDoubleSeconds(Clock::System().Read().monotonic - begin));
    }
    std::sort(seconds.begin(), seconds.end());
    json_.Number("seconds", Percentile(seconds, 0.5));
    json_.Number("seconds_max", seconds.back());
    json_.Number("wire_bytes", static_cast<double>(reply.ByteSizeLong()));
    json_.Number("failed", 0);
    return absl::OkStatus();
  }

  const LoadSettings& settings_;
  Json json_;
  Crowd crowd_;
};

}  // namespace

absl::StatusOr<std::string> Measure(const LoadSettings& settings, const std::string& target,
                                    std::shared_ptr<grpc::ChannelCredentials> credentials) {
  // Never destroyed: the process ends next, and an orderly end of thousands of open streams would gain nothing.
  auto* const measurement = new Measurement(settings, target, std::move(credentials));
  return measurement->Run();
}

}  // namespace muster::bench
