// The messages between the agent, its keeper, and the keeper's helpers, as bytes.
//
// A frame is a length (4 bytes, little-endian) and that many bytes: the kind (1 byte), then the fields in order.
// Numbers are little-endian and of fixed width; texts and lists begin with their length (4 bytes). There is no version
// number, because all ends are forked from one agent and so are the same binary. The bytes do not contain the
// descriptor of a HandOver: the socket sends it beside the frame (channel.h), and HandOverOf returns the field for it.
// A frame that is too short or too long for its fields is an error.
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
  MonotonicTime at = MonotonicTime::Never();  // Never(): disarm the fence
  uint32_t fence_falls_seen = 0;              // how many FenceFell the agent had received by then
  MonotonicTime counted_from = {};            // when the agent sent the heartbeat that the scheduler answered
};
// The agent ends as planned: the keeper kills all processes, sends no last report, and ends.
struct EndCommand {};
// Brings the descriptor of the node's lock, which the keeper then holds open.
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

// The keeper's requests to its helpers, the processes that access files in its place (file_helper.h). A helper answers
// the requests in their order, each with one frame that contains a text.
struct OpenLogRequest {
  uint32_t log = 0;  // a number that the keeper chooses
  std::string path;
};  // answer: why the log can't be written; empty: it can
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
};  // answer: why the file could not be written; empty: it was
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

// Returns the part of a command that hands over a secret; null if there is none.
HandOver* HandOverOf(KeeperCommand& command);

// Returns the content of one frame, without the length.
std::string Encode(const KeeperCommand& command);
std::string Encode(const KeeperEvent& event);  // not for events that the agent's side makes itself

std::string Encode(const FileRequest& request);

absl::StatusOr<KeeperCommand> DecodeCommand(std::string_view bytes);
absl::StatusOr<KeeperEvent> DecodeEvent(std::string_view bytes);
absl::StatusOr<FileRequest> DecodeFileRequest(std::string_view bytes);

}  // namespace muster::agent
