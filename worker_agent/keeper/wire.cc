#include "worker_agent/keeper/wire.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace muster::agent {
namespace {

// Writer and Reader go over the same fields by the same functions (Fields below), so the two can't drift apart.
class Writer {
 public:
  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      bytes_.push_back(value ? '\1' : '\0');
    } else if constexpr (std::is_integral_v<T>) {
      auto rest = static_cast<std::make_unsigned_t<T>>(value);
      for (size_t i = 0; i < sizeof(T); ++i) {
        bytes_.push_back(static_cast<char>(static_cast<unsigned char>(rest >> (8 * i))));
      }
    } else {
      Fields(*this, const_cast<T&>(value));
    }
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    (*this)(static_cast<uint32_t>(list.size()));
    for (const T& entry : list) (*this)(entry);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t byte = 0;
      (*this)(byte);
      if (byte > 1) ok_ = false;
      value = byte == 1;
    } else if constexpr (std::is_integral_v<T>) {
      std::string_view bytes = Cut(sizeof(T));
      std::make_unsigned_t<T> result = 0;
      for (size_t i = 0; i < bytes.size(); ++i) {
        result |= static_cast<decltype(result)>(
            static_cast<std::make_unsigned_t<T>>(static_cast<unsigned char>(bytes[i])) << (8 * i));
      }
      value = static_cast<T>(result);
    } else {
      Fields(*this, value);
    }
  }
  void operator()(std::string& text) {
    uint32_t size = 0;
    (*this)(size);
    text = std::string(Cut(size));
  }
  template <typename T>
  void operator()(std::vector<T>& list) {
    uint32_t size = 0;
    (*this)(size);
    // Each entry takes at least one byte: a made-up length can't make us reserve more than the frame holds.
    if (size > rest_.size()) ok_ = false;
    list.clear();
    for (uint32_t i = 0; ok_ && i < size; ++i) (*this)(list.emplace_back());
  }
  bool AtCleanEnd() const { return ok_ && rest_.empty(); }

 private:
  std::string_view Cut(size_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    std::string_view cut = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return cut;
  }

  std::string_view rest_;
  bool ok_ = true;
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
  a(hand_over.variable);  // its descriptor goes beside the frame
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
void Fields(A& a, FarewellCommand& farewell) {
  a(farewell.argv), a(farewell.env), a(farewell.hand_over);
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
      a(end.log_file), a(end.launch_reason), a(end.launch_remedy), a(end.exception);
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
  if (auto* farewell = std::get_if<FarewellCommand>(&command)) found = &farewell->hand_over;
  return found == nullptr || found->variable.empty() ? nullptr : found;
}

std::string Encode(const KeeperCommand& command) { return EncodeVariant(command); }
std::string Encode(const KeeperEvent& event) { return EncodeVariant(event); }
std::string Encode(const FileRequest& request) { return EncodeVariant(request); }
absl::StatusOr<KeeperCommand> DecodeCommand(std::string_view bytes) { return DecodeVariant<KeeperCommand>(bytes); }
absl::StatusOr<KeeperEvent> DecodeEvent(std::string_view bytes) { return DecodeVariant<KeeperEvent>(bytes); }
absl::StatusOr<FileRequest> DecodeFileRequest(std::string_view bytes) { return DecodeVariant<FileRequest>(bytes); }

}  // namespace muster::agent
