// The large answers that are being sent, so that readers who take theirs slowly, each a different one, can't have them
// fill the memory. One that many read counts once. Of the server's thread.
#pragma once

#include <cstddef>
#include <map>

#include "scheduler/http/response.h"

namespace muster::http {

class UnderWay {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 20;
  static constexpr size_t kSmall = size_t{64} << 10;  // up to this they are not counted: connections are limited

  // False: there is no room. The response stays where it is until End, once for each Begin.
  bool Begin(const Response& response) {
    const size_t size = response.body.size();
    if (size <= kSmall) return true;
    const auto found = readers_.find(&response);
    if (found == readers_.end() && bytes_ + size > kMaxBytes) return false;
    if (found == readers_.end()) bytes_ += size;
    ++readers_[&response];
    return true;
  }
  void End(const Response& response) {
    const auto found = readers_.find(&response);
    if (found == readers_.end() || --found->second > 0) return;
    bytes_ -= response.body.size();
    readers_.erase(found);
  }
  size_t bytes() const { return bytes_; }

 private:
  std::map<const Response*, size_t> readers_;
  size_t bytes_ = 0;
};

}  // namespace muster::http
