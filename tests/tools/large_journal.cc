// large_journal FILE NODES SLOTS: writes the journal of a scheduler that was killed while one job of NODES nodes with
// SLOTS workers each was running. For tests of how soon a scheduler is ready again.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "scheduler/core/core.h"
#include "scheduler/journal/sqlite_journal.h"

namespace muster::scheduler {
namespace {

void Append(Journal& journal, const Core& core, Effects effects) {
  std::vector<v1::Record> records;
  for (Effect& effect : effects) {
    if (auto* persist = std::get_if<Persist>(&effect)) records.push_back(std::move(persist->record));
  }
  if (!records.empty()) journal.Append(std::move(records));
  if (journal.WantsSnapshot()) journal.AppendSnapshot(core.TakeSnapshot());
}

JoinRequested JoinOf(uint64_t node, int slots) {
  JoinRequested event{.stream = node + 1, .join = {}, .peer_address = "10.0.0.1", .identity = ""};
  v1::Join& join = event.join;
  join.set_protocol_version(kProtocolVersion);
  join.set_job_id("default");
  join.set_node_id(absl::StrCat("node", node));
  join.set_incarnation(node + 1);
  join.set_connect_seq(1);
  v1::NodeInfo& info = *join.mutable_node();
  info.set_role(v1::ROLE_WORKER);
  info.set_host_name(absl::StrCat("node", node));
  info.set_machine_id(absl::StrCat("machine", node));
  info.set_address(absl::StrCat("10.", node / 65536, ".", node / 256 % 256, ".", node % 256));
  for (int slot = 0; slot < slots; ++slot) info.add_slots()->set_ring_port(20'000 + static_cast<uint32_t>(slot));
  info.set_master_port(29'500);
  return event;
}

ReportReceived ReportOf(uint64_t node, int slots) {
  ReportReceived event{.stream = node + 1, .report = {}};
  event.report.set_heartbeat_seq(1);
  for (int slot = 0; slot < slots; ++slot) {
    v1::NodeEvent& started = *event.report.add_events();
    started.set_number(static_cast<uint64_t>(slot) + 1);
    started.mutable_started()->set_round(1);
    started.mutable_started()->set_slot(static_cast<uint32_t>(slot));
    started.mutable_started()->set_pid(1000 + static_cast<uint64_t>(slot));
  }
  return event;
}

int Main(const std::string& path, uint64_t nodes, int slots) {
  auto journal = SqliteJournal::Open(path);
  if (!journal.ok()) return std::fprintf(stderr, "%s\n", std::string(journal.status().message()).c_str()), 1;
  const absl::Status replayed = (*journal)->Replay([](const v1::Record&) {});
  MUSTER_CHECK(replayed.ok(), "a new journal can be read");
  CoreOptions options;
  options.own.rules.set_worker_num(static_cast<uint32_t>(nodes) * static_cast<uint32_t>(slots));
  Core core(options, "cluster");
  const Now now{MonotonicTime(), {1'795'000'000'000}};
  Append(**journal, core, core.Start(now));
  for (uint64_t node = 0; node < nodes; ++node) Append(**journal, core, core.Apply(JoinOf(node, slots), now));
  for (uint64_t node = 0; node < nodes; ++node) Append(**journal, core, core.Apply(ReportOf(node, slots), now));
  core.CheckInvariants();
  return 0;
}

}  // namespace
}  // namespace muster::scheduler

int main(int argc, char** argv) {
  if (argc != 4) return std::fputs("usage: large_journal FILE NODES SLOTS\n", stderr), 2;
  return muster::scheduler::Main(argv[1], std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]));
}
