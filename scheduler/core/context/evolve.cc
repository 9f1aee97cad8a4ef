#include "scheduler/core/context/evolve.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "scheduler/core/context/evolve_records.h"
#include "scheduler/core/context/snapshot.h"
#include "scheduler/core/facts/event_log.h"

namespace muster::scheduler {
namespace {

void ApplyRecord(State& state, const v1::Record& record) {
  if (ApplyToRun(state, record) || ApplyToNode(state, record)) return;
  switch (record.kind_case()) {
    case v1::Record::kClusterFounded:
      Edit(state).cluster_id = record.cluster_founded().cluster_id();
      return;
    case v1::Record::kTermBegun:
      Edit(state).term = record.term_begun().term();
      return;
    case v1::Record::kQuorumChanged: {
      const v1::QuorumChanged& quorum = record.quorum_changed();
      Edit(state).quorums[quorum.lighthouse()] = {quorum.quorum_id(),
                                                  {quorum.replica_ids().begin(), quorum.replica_ids().end()}};
      return;
    }
    case v1::Record::kSnapshot:
      state = FromSnapshot(record.snapshot());  // safe: nothing points into the old state yet
      return;
    case v1::Record::KIND_NOT_SET:  // a kind that a later version has added
      return;
    default:
      MUSTER_CHECK(false, "each kind of record changes the state");
  }
}

}  // namespace

std::vector<std::shared_ptr<const v1::JobEvent>> Evolve(State& state, const v1::Record& record) {
  // Describe the record before it is applied: a line may name a node that the record removes.
  std::vector<v1::JobEvent> lines = Describe(state, record);
  ApplyRecord(state, record);
  std::vector<std::shared_ptr<const v1::JobEvent>> logged;
  for (v1::JobEvent& line : lines) {
    line.set_number(++Edit(state).last_event_number);
    line.set_unix_ms(record.unix_ms());
    logged.push_back(std::make_shared<const v1::JobEvent>(std::move(line)));
    Edit(state).event_log.push_back(logged.back());
    if (Edit(state).event_log.size() > kMaxLoggedEvents) Edit(state).event_log.pop_front();
  }
  return logged;
}

}  // namespace muster::scheduler
