#include "worker_agent/gateway/torch_store/waits.h"

#include <utility>

namespace muster::torch_store {
namespace {

// Of one name that is waited for: the name is kept twice, and there are entries of four tables.
size_t BytesOfName(const std::string& name) { return 2 * name.size() + 256; }

}  // namespace

size_t Waits::BytesOf(const std::vector<std::string>& keys) {
  size_t bytes = 0;
  for (const std::string& key : keys) bytes += BytesOfName(key);
  return bytes;
}

size_t Waits::CountOf(uint64_t client) const {
  const auto found = of_client_.find(client);
  return found == of_client_.end() ? 0 : found->second.size();
}

Waits::WaitId Waits::Begin(uint64_t client) {
  waits_[++last_id_].client = client;
  of_client_[client].push_back(last_id_);
  return last_id_;
}

Waits::Waiters& Waits::Refer(WaitId id, const std::string& name) {
  Waiters& waiters = waiters_[name];
  if (waiters.references++ == 0) waiters.name = name;
  waits_[id].names.push_back(&waiters);
  bytes_ += BytesOfName(name);
  return waiters;
}

void Waits::Add(uint64_t client, const std::vector<std::string>& keys) {
  const WaitId id = Begin(client);
  for (const std::string& key : keys) Refer(id, key).for_key.insert(id);
  waits_[id].missing_num = keys.size();
}

void Waits::AddToBarrier(uint64_t client, const std::string& key, int64_t world) {
  const WaitId id = Begin(client);
  Refer(id, key).at_barrier.emplace(world, id);
  waits_[id].missing_num = 1;
  waits_[id].world = world;
}

void Waits::End(WaitId id) {
  const auto found = waits_.find(id);
  const Wait wait = std::move(found->second);
  waits_.erase(found);
  const auto of_client = of_client_.find(wait.client);
  std::erase(of_client->second, id);
  if (of_client->second.empty()) of_client_.erase(of_client);
  for (Waiters* waiters : wait.names) {
    bytes_ -= BytesOfName(waiters->name);
    waiters->for_key.erase(id);
    waiters->at_barrier.erase({wait.world, id});
    if (--waiters->references == 0) waiters_.erase(waiters_.find(waiters->name));
  }
}

void Waits::Advance(WaitId id) {
  Wait& wait = waits_.at(id);
  if (--wait.missing_num > 0) return;
  const uint64_t client = wait.client;
  End(id);
  wake_(client);
}

void Waits::Came(const std::string& key) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return;
  for (const WaitId id : std::exchange(found->second.for_key, {})) Advance(id);
}

void Waits::CameForOne(const std::string& key) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end() || found->second.for_key.empty()) return;
  const WaitId id = *found->second.for_key.begin();
  found->second.for_key.erase(id);
  Advance(id);
}

void Waits::BarrierIsAt(const std::string& key, int64_t count) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return;
  std::vector<WaitId> over;
  for (const auto& [world, id] : found->second.at_barrier) {
    if (world > count) break;
    over.push_back(id);
  }
  for (const WaitId id : over) Advance(id);
}

void Waits::Cancel(uint64_t client) {
  const auto found = of_client_.find(client);
  if (found == of_client_.end()) return;
  const std::vector<WaitId> ids = found->second;
  for (const WaitId id : ids) End(id);
}

}  // namespace muster::torch_store
