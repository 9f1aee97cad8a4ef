// The messages between the agent, its keeper, and the keeper's helpers, as bytes.
//
// A frame is a length (4 bytes, little-endian) and that many bytes: the kind (1 byte), then the fields in order.
// Numbers are little-endian and of fixed width; texts and lists begin with their length (4 bytes). All ends are always
// the same binary (forked from the agent), so there are no versions. The descriptor of a HandOver is no part of the
// bytes: it goes with the frame (channel.h), and HandOverOf returns its place. A frame that doesn't decode exactly is
// an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "worker_agent/keeper/files/run_logs.h"
#include "worker_agent/keeper/processes.h"

namespace muster::agent {

inline constexpr size_t kMaxFrameBytes = 8 * 1024 * 1024;  // above what execve takes for argv and environment

struct StartCommand {
  ProcessSpec spec;
};
struct StopCommand {
  ProcessKey key;
};
struct StopAllCommand {
  int64_t interrupt_ms = 0;  // between SIGINT and stop_signal; 0: without SIGINT
};
struct KillAllCommand {};
struct ForwardCommand {
  int signal = 0;
};
struct SetFenceCommand {
  MonotonicTime at = MonotonicTime::Never();  // never: it is disarmed
  uint32_t fence_falls_seen = 0;              // how many FenceFell the agent had taken when it sent this
  MonotonicTime counted_from = {};            // when the heartbeat was sent that was acknowledged
};
// The agent ends in order: kill everything, send no last report, end.
struct EndCommand {};
// The node's lock, which goes with it.
struct HoldLockCommand {};
// The answer is a Pong.
struct PingCommand {};
// The answer is an OutputRead.
struct ReadOutputCommand {
  OutputWish wish;
};
struct BeginRunCommand {
  RunFolder folder;
};
struct WriteFileCommand {
  std::string path;
  std::string content;
};

using KeeperCommand = std::variant<StartCommand, StopCommand, StopAllCommand, KillAllCommand, ForwardCommand,
                                   SetFenceCommand, LastReportCommand, EndCommand, PingCommand, BeginRunCommand,
                                   WriteFileCommand, HoldLockCommand, ReadOutputCommand>;

// The keeper's requests to the processes that touch files for it (file_helper.h). Each request is answered by one
// frame, which is a text, in the order of the requests.
struct OpenLogRequest {
  uint32_t log = 0;  // the keeper's choice
  std::string path;
};  // answer: why it can't be written, or empty
struct AppendRequest {
  uint32_t log = 0;
  std::string bytes;
};  // answer: a line for the user, or empty
struct CloseLogRequest {
  uint32_t log = 0;
};
struct RemoveRequest {
  std::string path;
};
struct WriteRequest {
  std::string path;
  std::string content;
};  // answer: why it couldn't be written, or empty
struct BeginRunRequest {
  RunFolder folder;
};  // answer: a line for the user, or empty
struct ReadErrorFileRequest {
  std::string path;
};  // answer: as ReadErrorFile
struct ReadDeviceLogRequest {
  std::string folder;
  int64_t pid = 0;
};  // answer: as ReadDeviceLog

using FileRequest = std::variant<OpenLogRequest, AppendRequest, CloseLogRequest, RemoveRequest, WriteRequest,
                                 BeginRunRequest, ReadErrorFileRequest, ReadDeviceLogRequest>;

// Returns the secret that a command hands over; null: none.
HandOver* HandOverOf(KeeperCommand& command);

// One frame's content, without the length.
std::string Encode(const KeeperCommand& command);
std::string Encode(const KeeperEvent& event);  // not for those that the agent's side makes itself

std::string Encode(const FileRequest& request);

absl::StatusOr<KeeperCommand> DecodeCommand(std::string_view bytes);
absl::StatusOr<KeeperEvent> DecodeEvent(std::string_view bytes);
absl::StatusOr<FileRequest> DecodeFileRequest(std::string_view bytes);

}  // namespace muster::agent
