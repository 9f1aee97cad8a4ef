// Takes the one hello that a new link begins with.
#pragma once

#include <optional>
#include <string>

#include "worker_agent/ring/link.h"

namespace muster::ring {

class HelloSink : public FrameSink {
 public:
  void OnControl(FrameType type, const std::string& payload) override {
    // What comes behind it belongs to whoever gets the link, so the link is not read again before it is handed over.
    if (type == FrameType::kHello && !is_wrong && !hello) hello = DecodeHello(payload);
    is_wrong = is_wrong || !hello || type != FrameType::kHello;
  }
  void OnStream(size_t) override { is_wrong = true; }
  Room RoomForChunk(size_t, char**) override { return Room::kWrong; }
  void OnChunk(size_t) override {}

  std::optional<Hello> hello;
  bool is_wrong = false;
};

}  // namespace muster::ring
