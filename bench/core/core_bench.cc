// Measures the scheduler's core alone: no network, no disk, one thread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "scheduler/core/core.h"

namespace muster::scheduler {
namespace {

// Time that moves a little with each event.
class FakeTime {
 public:
  Now Read() {
    ns_ += 1'000;
    return {MonotonicTime::FromNanoseconds(ns_), WallTime{ns_ / 1'000'000}};
  }

 private:
  int64_t ns_ = int64_t{1'000'000'000};
};

JoinRequested JoinOf(uint32_t number, uint32_t nodes, uint32_t slots) {
  JoinRequested event;
  event.stream = number + 1;
  event.peer_address = absl::StrFormat("10.%d.%d.%d", number >> 16, (number >> 8) & 255, number & 255);
  v1::Join& join = event.join;
  join.set_protocol_version(kProtocolVersion);
  join.set_job_id("bench");
  join.set_node_id(absl::StrFormat("node-%06d", number));
  join.set_incarnation(number + 1);
  join.set_connect_seq(1);
  join.mutable_settings()->set_worker_num(nodes * slots);
  v1::NodeInfo& node = *join.mutable_node();
  node.set_role(v1::ROLE_WORKER);
  node.set_host_name(join.node_id());
  node.set_machine_id(absl::StrCat("machine-", number));
  for (uint32_t i = 0; i < slots; ++i) node.add_slots()->set_ring_port(40'000 + i);
  return event;
}

// Joins that are ready to be applied. Their order differs from every rank order.
std::vector<Event> Joins(uint32_t nodes, uint32_t slots) {
  std::vector<Event> joins;
  joins.reserve(nodes);
  for (uint32_t i = 0; i < nodes; ++i) {
    joins.push_back(JoinOf(static_cast<uint32_t>(uint64_t{i} * 7'919 % nodes), nodes, slots));
  }
  return joins;
}

// Joins all nodes except the last one, which would close the round.
void JoinAllButOne(Core& core, FakeTime& time, const std::vector<Event>& joins) {
  benchmark::DoNotOptimize(core.Start(time.Read()));
  for (size_t i = 0; i + 1 < joins.size(); ++i) benchmark::DoNotOptimize(core.Apply(joins[i], time.Read()));
}

void Heartbeat(benchmark::State& state) {
  const uint32_t nodes = static_cast<uint32_t>(state.range(0));
  const std::vector<Event> joins = Joins(nodes, 1);
  Core core({}, "bench");
  FakeTime time;
  JoinAllButOne(core, time, joins);
  benchmark::DoNotOptimize(core.Apply(joins.back(), time.Read()));
  std::vector<Event> reports;
  for (uint32_t i = 0; i < nodes; ++i) {
    ReportReceived report;
    report.stream = uint64_t{i} * 7'907 % nodes + 1;
    report.report.set_heartbeat_seq(i + 1);
    reports.push_back(std::move(report));
  }
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(core.Apply(reports[next], time.Read()));
    if (++next == reports.size()) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Heartbeat)->Arg(1'000)->Arg(12'500)->Arg(100'000);

void Join(benchmark::State& state) {
  const uint32_t nodes = static_cast<uint32_t>(state.range(0));
  const std::vector<Event> joins = Joins(nodes, 1);
  for (auto _ : state) {
    state.PauseTiming();
    auto core = std::make_unique<Core>(CoreOptions(), "bench");
    FakeTime time;
    state.ResumeTiming();
    JoinAllButOne(*core, time, joins);
    state.PauseTiming();
    core.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * (nodes - 1));
}
BENCHMARK(Join)->Arg(1'000)->Arg(12'500)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Reports the round's size: the whole list, and the largest message to a node.
void Weigh(const Effects& effects, benchmark::State& state) {
  size_t list = 0, message = 0;
  for (const Effect& effect : effects) {
    if (const auto* publish = std::get_if<PublishPeers>(&effect)) list = publish->peer_list->size();
    if (const auto* send = std::get_if<Send>(&effect)) message = std::max(message, send->message->ByteSizeLong());
  }
  state.counters["peer_list_bytes"] = static_cast<double>(list);
  state.counters["assignment_bytes"] = static_cast<double>(message);
}

// The join that closes the round: it computes ranks, peer list, digest and records, and a message for every node.
void Close(benchmark::State& state, bool has_certificates) {
  const uint32_t nodes = static_cast<uint32_t>(state.range(0));
  std::vector<Event> joins = Joins(nodes, 8);
  for (Event& join : joins) {
    const std::string fingerprint(has_certificates ? 64 : 0, 'a');
    std::get<JoinRequested>(join).join.mutable_node()->set_certificate_fingerprint(fingerprint);
  }
  for (auto _ : state) {
    state.PauseTiming();
    auto core = std::make_unique<Core>(CoreOptions(), "bench");
    FakeTime time;
    JoinAllButOne(*core, time, joins);
    state.ResumeTiming();
    Effects effects = core->Apply(joins.back(), time.Read());
    state.PauseTiming();
    Weigh(effects, state);
    effects.clear();
    core.reset();
    state.ResumeTiming();
  }
}
void CloseRound(benchmark::State& state) { Close(state, false); }
BENCHMARK(CloseRound)->Arg(125)->Arg(1'000)->Arg(12'500)->Unit(benchmark::kMillisecond);
void CloseRoundWithTls(benchmark::State& state) { Close(state, true); }
BENCHMARK(CloseRoundWithTls)->Arg(12'500)->Unit(benchmark::kMillisecond);

// A round is given up and all processes have stopped: all nodes but one report that.
void QuitRound(benchmark::State& state) {
  const uint32_t nodes = static_cast<uint32_t>(state.range(0));
  const std::vector<Event> joins = Joins(nodes, 8);
  SteerRequested restart;
  restart.request.set_job_id("bench");
  restart.request.set_action(v1::SteerRequest::RESTART);
  for (auto _ : state) {
    state.PauseTiming();
    auto core = std::make_unique<Core>(CoreOptions(), "bench");
    FakeTime time;
    JoinAllButOne(*core, time, joins);
    benchmark::DoNotOptimize(core->Apply(joins.back(), time.Read()));
    benchmark::DoNotOptimize(core->Apply(restart, time.Read()));
    ReportReceived report;
    report.report.add_events()->set_number(1);
    report.report.mutable_events(0)->mutable_quit()->set_round(1);
    state.ResumeTiming();
    for (report.stream = 1; report.stream < nodes; ++report.stream) {
      benchmark::DoNotOptimize(core->Apply(report, time.Read()));
    }
    state.PauseTiming();
    core.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * (nodes - 1));
}
BENCHMARK(QuitRound)->Arg(1'000)->Arg(12'500)->Unit(benchmark::kMillisecond);

// A power cut takes down a row of machines: half of all nodes are lost. Their new starts come back one by one, except
// one. `has_spare`: a spare stands by, but can take the place of no node (it has one slot).
void Return(benchmark::State& state, bool has_spare, bool has_ids) {
  const uint32_t nodes = static_cast<uint32_t>(state.range(0));
  std::vector<Event> joins = Joins(nodes, 8);
  for (Event& event : joins) {
    v1::Join& join = std::get<JoinRequested>(event).join;
    join.mutable_settings()->set_enable_recovery(true);
    if (!has_ids) join.clear_node_id();
    join.mutable_node()->set_lock_token(absl::StrCat("lock-", join.incarnation()));
  }
  for (auto _ : state) {
    state.PauseTiming();
    auto core = std::make_unique<Core>(CoreOptions(), "bench");
    FakeTime time;
    std::vector<std::string> ids(nodes + 1);  // by stream
    const auto note = [&ids](const Effects& effects) {
      for (const Effect& effect : effects) {
        const auto* send = std::get_if<Send>(&effect);
        if (send != nullptr && send->message->has_welcome()) ids[send->stream] = send->message->welcome().node_id();
      }
    };
    benchmark::DoNotOptimize(core->Start(time.Read()));
    for (const Event& join : joins) note(core->Apply(join, time.Read()));
    if (has_spare) {
      JoinRequested spare = JoinOf(nodes, nodes, 1);
      spare.join.mutable_settings()->set_worker_num(nodes * 8);
      spare.join.mutable_node()->set_spare(true);
      benchmark::DoNotOptimize(core->Apply(spare, time.Read()));
    }
    std::vector<JoinRequested> starts;
    for (uint32_t i = 0; i < nodes / 2; ++i) {
      JoinRequested start = std::get<JoinRequested>(joins[i]);
      LastReportReceived last_report;  // the keeper's: the processes have ended
      last_report.last_report.set_cluster_id("bench");
      last_report.last_report.set_job_id("bench");
      last_report.last_report.set_run(1);
      last_report.last_report.set_node_id(ids[start.stream]);
      last_report.last_report.set_incarnation(start.join.incarnation());
      benchmark::DoNotOptimize(core->Apply(last_report, time.Read()));
      start.stream += 2 * nodes;
      start.join.set_incarnation(start.join.incarnation() + 2 * nodes);
      starts.push_back(std::move(start));
    }
    state.ResumeTiming();
    for (size_t i = 0; i + 1 < starts.size(); ++i) benchmark::DoNotOptimize(core->Apply(starts[i], time.Read()));
    state.PauseTiming();
    core.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * (nodes / 2 - 1));
}
void ReturnOneByOne(benchmark::State& state) { Return(state, false, true); }
BENCHMARK(ReturnOneByOne)->Arg(1'000)->Arg(12'500)->Unit(benchmark::kMillisecond);
void ReturnBesideASpare(benchmark::State& state) { Return(state, true, true); }
BENCHMARK(ReturnBesideASpare)->Arg(1'000)->Arg(12'500)->Unit(benchmark::kMillisecond);
void ReturnWithoutAnId(benchmark::State& state) { Return(state, false, false); }
BENCHMARK(ReturnWithoutAnId)->Arg(1'000)->Arg(12'500)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster::scheduler
