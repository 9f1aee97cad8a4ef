#include "worker_agent/keeper/wire.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/bytes.h"

namespace muster::agent {
namespace {

// Writer and Reader go over the same fields by the same functions (Fields below), so the two can't drift apart.
class Writer {
 public:
  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_integral_v<T>) {
      out_.Put(value);
    } else {
      Fields(*this, const_cast<T&>(value));
    }
  }
  void operator()(const std::string& text) { out_.Text<uint32_t>(text); }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    (*this)(static_cast<uint32_t>(list.size()));
    for (const T& entry : list) (*this)(entry);
  }
  std::string Take() { return out_.Take(); }

 private:
  LittleEndianWriter out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : in_(bytes) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_integral_v<T>) {
      value = in_.Take<T>();
    } else {
      Fields(*this, value);
    }
  }
  void operator()(std::string& text) { text = std::string(in_.Text<uint32_t>()); }
  template <typename T>
  void operator()(std::vector<T>& list) {
    const auto size = in_.Take<uint32_t>();
    // Each entry takes at least one byte: a made-up length can't make us reserve more than the frame holds.
    if (size > in_.rest().size()) in_.Refuse();
    list.clear();
    for (uint32_t i = 0; in_.is_good() && i < size; ++i) (*this)(list.emplace_back());
  }
  bool AtCleanEnd() const { return in_.IsDone(); }

 private:
  LittleEndianReader in_;
};

template <typename A>
void Fields(A& a, MonotonicTime& time) {
  int64_t nanoseconds = time.nanoseconds();
  a(nanoseconds);
  time = MonotonicTime::FromNanoseconds(nanoseconds);
}
template <typename A>
void Fields(A& a, ProcessKey& key) {
  a(key.slot), a(key.round), a(key.attempt);
}
template <typename A>
void Fields(A& a, HandOver& hand_over) {
  a(hand_over.variable);  // the socket sends its descriptor beside the frame
}
template <typename A>
void Fields(A& a, ProcessSpec& spec) {
  a(spec.key), a(spec.argv), a(spec.env), a(spec.working_directory), a(spec.log_path), a(spec.passes_output);
  a(spec.prefix), a(spec.inherits_stdin), a(spec.cpus), a(spec.error_file), a(spec.hand_over);
  a(spec.stands_for_all), a(spec.waits_for_background), a(spec.device_logs);
}
template <typename A>
void Fields(A& a, StartCommand& start) {
  a(start.spec);
}
template <typename A>
void Fields(A& a, StopCommand& stop) {
  a(stop.key);
}
template <typename A>
void Fields(A& a, StopAllCommand& stop) {
  a(stop.interrupt_ms);
}
template <typename A>
void Fields(A&, KillAllCommand&) {}
template <typename A>
void Fields(A&, EndCommand&) {}
template <typename A>
void Fields(A&, PingCommand&) {}
template <typename A>
void Fields(A&, HoldLockCommand&) {}
template <typename A>
void Fields(A& a, RunFolder& folder) {
  a(folder.base), a(folder.job_id), a(folder.name), a(folder.keep);
}
template <typename A>
void Fields(A& a, BeginRunCommand& begin) {
  a(begin.folder);
}
template <typename A>
void Fields(A& a, WriteFileCommand& write) {
  a(write.path), a(write.content);
}
template <typename A>
void Fields(A& a, OutputWish& wish) {
  a(wish.query), a(wish.asked_on), a(wish.slot), a(wish.lines), a(wish.known), a(wish.after);
}
template <typename A>
void Fields(A& a, ReadOutputCommand& read) {
  a(read.wish);
}
template <typename A>
void Fields(A& a, OutputRead& read) {
  a(read.query), a(read.asked_on), a(read.is_found), a(read.key), a(read.pid), a(read.has_ended), a(read.text);
  a(read.unfinished), a(read.end), a(read.has_gap), a(read.log_file);
}
template <typename A>
void Fields(A& a, ForwardCommand& forward) {
  a(forward.signal);
}
template <typename A>
void Fields(A& a, SetFenceCommand& fence) {
  a(fence.at), a(fence.fence_falls_seen), a(fence.counted_from);
}
template <typename A>
void Fields(A& a, LastReportCommand& last_report) {
  a(last_report.argv), a(last_report.env), a(last_report.hand_over);
}
template <typename A>
void Fields(A& a, Started& started) {
  a(started.key), a(started.pid);
}
template <typename A>
void Fields(A& a, ExitStatus& exit) {
  a(exit.code), a(exit.signal), a(exit.core_dumped);
}
template <typename A>
void Fields(A& a, MemoryEnd& memory) {
  a(memory.was_short), a(memory.limit_bytes), a(memory.peak_bytes);
}
template <typename A>
void Fields(A& a, RaisedException& exception) {
  a(exception.type), a(exception.message), a(exception.file), a(exception.line), a(exception.is_native);
}
template <typename A>
void Fields(A& a, ProcessEnd& end) {
  a(end.exit), a(end.was_stopped), a(end.error_message), a(end.last_lines), a(end.launch_error), a(end.memory),
      a(end.log_file), a(end.launch_reason), a(end.launch_remedy), a(end.exception), a(end.failing_line);
}
template <typename A>
void Fields(A& a, Ended& ended) {
  a(ended.key), a(ended.end), a(ended.ended_at), a(ended.is_anything_left);
}
template <typename A>
void Fields(A& a, Cleared& cleared) {
  a(cleared.key);
}
template <typename A>
void Fields(A& a, Unkillable& left) {
  a(left.key), a(left.pid), a(left.name), a(left.state), a(left.since);
}
template <typename A>
void Fields(A&, FenceFell&) {}
template <typename A>
void Fields(A& a, ClockJumped& jumped) {
  a(jumped.jump_ms);
}
template <typename A>
void Fields(A& a, OutputSeen& seen) {
  a(seen.key), a(seen.changes), a(seen.unseen), a(seen.has_step), a(seen.step), a(seen.format);
}
template <typename A>
void Fields(A&, Pong&) {}
template <typename A>
void Fields(A&, KeeperLost&) {}
template <typename A>
void Fields(A&, KeeperSilent&) {}
template <typename A>
void Fields(A&, KeeperAnswers&) {}
template <typename A>
void Fields(A& a, OpenLogRequest& open) {
  a(open.log), a(open.path);
}
template <typename A>
void Fields(A& a, AppendRequest& append) {
  a(append.log), a(append.bytes);
}
template <typename A>
void Fields(A& a, CloseLogRequest& close) {
  a(close.log);
}
template <typename A>
void Fields(A& a, RemoveRequest& remove) {
  a(remove.path);
}
template <typename A>
void Fields(A& a, WriteRequest& write) {
  a(write.path), a(write.content);
}
template <typename A>
void Fields(A& a, BeginRunRequest& begin) {
  a(begin.folder);
}
template <typename A>
void Fields(A& a, ReadErrorFileRequest& read) {
  a(read.path);
}
template <typename A>
void Fields(A& a, ReadDeviceLogRequest& read) {
  a(read.folder), a(read.pid);
}

template <typename Variant>
std::string EncodeVariant(const Variant& variant) {
  Writer writer;
  writer(static_cast<uint8_t>(variant.index()));
  std::visit([&](const auto& alternative) { writer(alternative); }, variant);
  return writer.Take();
}

template <typename Variant, size_t... kIndex>
bool Emplace(Variant& variant, size_t wanted, std::index_sequence<kIndex...>) {
  return ((kIndex == wanted ? (variant.template emplace<kIndex>(), true) : false) || ...);
}

template <typename Variant>
absl::StatusOr<Variant> DecodeVariant(std::string_view bytes) {
  Reader reader(bytes);
  uint8_t kind = 0;
  reader(kind);
  Variant variant;
  if (!Emplace(variant, kind, std::make_index_sequence<std::variant_size_v<Variant>>())) {
    return absl::InvalidArgumentError("a frame of an unknown kind");
  }
  std::visit([&](auto& alternative) { reader(alternative); }, variant);
  if (!reader.AtCleanEnd()) return absl::InvalidArgumentError("a frame that is cut short or too long");
  return variant;
}

}  // namespace

HandOver* HandOverOf(KeeperCommand& command) {
  HandOver* found = nullptr;
  if (auto* start = std::get_if<StartCommand>(&command)) found = &start->spec.hand_over;
  if (auto* last_report = std::get_if<LastReportCommand>(&command)) found = &last_report->hand_over;
  return found == nullptr || found->variable.empty() ? nullptr : found;
}

std::string Encode(const KeeperCommand& command) { return EncodeVariant(command); }
std::string Encode(const KeeperEvent& event) { return EncodeVariant(event); }
std::string Encode(const FileRequest& request) { return EncodeVariant(request); }
absl::StatusOr<KeeperCommand> DecodeCommand(std::string_view bytes) { return DecodeVariant<KeeperCommand>(bytes); }
absl::StatusOr<KeeperEvent> DecodeEvent(std::string_view bytes) { return DecodeVariant<KeeperEvent>(bytes); }
absl::StatusOr<FileRequest> DecodeFileRequest(std::string_view bytes) { return DecodeVariant<FileRequest>(bytes); }

}  // namespace muster::agent
