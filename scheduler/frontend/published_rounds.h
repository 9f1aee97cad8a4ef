// The peer lists with which GetPeers answers. Thread-safe; the bytes are shared, never copied.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/mutex.h"

namespace muster::scheduler {

class PublishedRounds {
 public:
  using PeerList = std::shared_ptr<const std::string>;

  // Keeps the latest kKeptRounds rounds of each run. A node that asks for an older round will soon be sent a newer one.
  void Publish(const std::string& job_id, uint64_t run, uint32_t round, PeerList peers);
  void Forget(const std::string& job_id, uint64_t run);
  PeerList Find(const std::string& job_id, uint64_t run, uint32_t round) const;  // null: not known

  static constexpr size_t kKeptRounds = 2;

 private:
  mutable Mutex mutex_;
  std::map<std::pair<std::string, uint64_t>, std::map<uint32_t, PeerList>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
