#include "scheduler/core/views/job_map.h"

#include "absl/strings/string_view.h"

namespace muster::scheduler {
namespace {

// A hash (FNV-1a) that only detects changes; it is not secure.
class MapVersion {
 public:
  void Add(absl::string_view text) {
    for (const char c : text) Mix(static_cast<unsigned char>(c));
    Mix(0x100);
  }
  void Add(uint64_t number) { Mix(number); }
  uint64_t value() const { return value_; }

 private:
  void Mix(uint64_t word) { value_ = (value_ ^ word) * 0x100000001b3; }
  uint64_t value_ = 0xcbf29ce484222325;
};

char CharOf(const Node& node) {
  if (node.record().is_lost) return 'l';
  if (node.is_settled) return 'e';
  if (node.stream == 0) return 'd';
  if (node.record().is_spare) return 'p';
  return node.record().draining_reason.empty() ? 'c' : 'g';
}

char CharOf(SlotState::Phase phase) {
  switch (phase) {
    case SlotState::Phase::kIdle:
      return '-';
    case SlotState::Phase::kAssigned:
      return 'a';
    case SlotState::Phase::kRunning:
      return 'r';
    case SlotState::Phase::kDone:
      return 'd';
    case SlotState::Phase::kFailed:
      return 'f';
    case SlotState::Phase::kStopped:
      return 's';
  }
  return '-';
}

JobMap::Name MapNameOf(const Node& node) {
  const v1::NodeInfo& info = node.record().info;
  JobMap::Name name{.node_id = node.record().id,
                    .host_name = info.host_name(),
                    .label_path = info.label_path(),
                    .is_server = info.role() == v1::ROLE_SERVER,
                    .slots = static_cast<uint32_t>(node.record().slots.size())};
  for (const SlotState& slot : node.record().slots) {
    if (slot.phase == SlotState::Phase::kIdle) continue;
    if (!name.ranks.empty() && name.ranks.back().first + name.ranks.back().second == slot.rank) {
      ++name.ranks.back().second;
    } else {
      name.ranks.emplace_back(slot.rank, 1);
    }
  }
  return name;
}

}  // namespace

std::shared_ptr<const JobMap> MapOf(const Run& run, bool with_names) {
  auto map = std::make_shared<JobMap>();
  map->job_id = run.record().job_id;
  map->run = run.record().number;
  map->round = run.record().round;
  map->nodes.reserve(run.nodes.size());
  MapVersion version;
  for (const auto& [id, node] : run.nodes) {
    map->nodes.push_back(CharOf(node));
    version.Add(id);
    version.Add(node.record().info.host_name());
    for (const SlotState& slot : node.record().slots) {
      map->slots.push_back(CharOf(slot.phase));
      version.Add(slot.phase == SlotState::Phase::kIdle ? UINT64_MAX : slot.rank);
    }
    version.Add(node.record().slots.size());
    if (with_names) map->names.push_back(MapNameOf(node));
  }
  map->names_version = version.value();
  return map;
}

}  // namespace muster::scheduler
