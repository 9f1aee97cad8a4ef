// The words between the agent and its keeper, as bytes.
//
// A frame is a length (4 bytes, little-endian) and that many bytes: the kind (1 byte), then the fields in order.
// Numbers are little-endian and of fixed width; texts and lists begin with their length (4 bytes). Both ends are always
// the same binary (the keeper is forked from the agent), so there are no versions. Whatever doesn't decode exactly is
// an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "worker_agent/keeper/keeper.h"

namespace muster::agent {

inline constexpr size_t kMaxFrameBytes = 8 * 1024 * 1024;  // above what execve takes for argv and environment

struct StartCommand {
  ProcessSpec spec;
  uint32_t fence_falls_seen = 0;  // how many FenceFell the agent had taken when it sent this
};
struct StopCommand {
  ProcessKey key;
};
struct StopAllCommand {};
struct KillAllCommand {};
struct ForwardCommand {
  int signal = 0;
};
struct SetFenceCommand {
  std::optional<int64_t> boottime_ms;
};
// The agent ends in good order: kill everything, no farewell, end.
struct EndCommand {};

using KeeperCommand = std::variant<StartCommand, StopCommand, StopAllCommand, KillAllCommand, ForwardCommand,
                                   SetFenceCommand, FarewellCommand, EndCommand>;

// One frame's content, without the length.
std::string Encode(const KeeperCommand& command);
std::string Encode(const KeeperEvent& event);  // not for KeeperLost, which nobody sends

absl::StatusOr<KeeperCommand> DecodeCommand(std::string_view bytes);
absl::StatusOr<KeeperEvent> DecodeEvent(std::string_view bytes);

}  // namespace muster::agent
