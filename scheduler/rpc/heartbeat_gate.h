// Which heartbeats of one stream are taken that come as datagrams, and which answers go back as such. Pure; its owner
// locks.
#pragma once

#include <cstdint>

namespace muster::scheduler {

class HeartbeatGate {
 public:
  // True if it is to be posted. What came before is a repetition, or too late; no more than one waits for the loop.
  bool Take(uint64_t heartbeat_seq) {
    if (heartbeat_seq <= heartbeat_seq_ || is_posted_) return false;
    heartbeat_seq_ = owed_seq_ = heartbeat_seq;
    is_posted_ = true;
    return true;
  }
  // The loop has applied it.
  void NoteApplied() { is_posted_ = false; }
  // True, once, if this one was taken and is the latest.
  bool TakeAnswer(uint64_t heartbeat_seq) {
    if (owed_seq_ == 0 || owed_seq_ != heartbeat_seq) return false;
    owed_seq_ = 0;
    return true;
  }

 private:
  uint64_t heartbeat_seq_ = 0;  // the latest that was taken
  uint64_t owed_seq_ = 0;       // it has no answer yet; 0: none
  bool is_posted_ = false;
};

}  // namespace muster::scheduler
