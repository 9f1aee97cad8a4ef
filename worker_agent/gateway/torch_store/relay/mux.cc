// The effect of each frame, by the state of its connection:
//
//   kind     open                       closed there  closed here  never opened
//   kOpen    refused                    refused       refused      opens it if it is the next id, else refused
//   kData    kept, within the window    refused       ignored      refused
//   kClose   closes it there            refused       ignored      refused
//   kCredit  more room, to one window   as if open    ignored      refused
//
// "Closed there" means closed by the other side, "closed here" by this side. After "refused" the link ends.
#include "worker_agent/gateway/torch_store/relay/mux.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace muster::torch_store {
namespace {

constexpr size_t kFrameHeaderBytes = 1 + 2 * sizeof(uint32_t);
constexpr size_t kKeptInCapacity = 1024;
constexpr size_t kLeastRoom = 4 * 1024;  // with less room nothing is sent, which prevents frames of one byte each
constexpr size_t kRoomForAll = ResumableStream::kMaxKept / 2;
// More than kMaxKept, because frames without data are sent even if the link is full.
constexpr size_t kMaxOwed = ResumableStream::kMaxKept * 2;

absl::Status Refused(const std::string& what, uint32_t id) {
  return absl::InvalidArgumentError(absl::StrCat("an invalid frame on a link: ", what, ", connection ", id));
}

}  // namespace

void Mux::Send(Kind kind, uint32_t id, uint32_t number) {
  char header[kFrameHeaderBytes];
  header[0] = static_cast<char>(kind);
  std::memcpy(header + 1, &id, sizeof(id));
  std::memcpy(header + 1 + sizeof(id), &number, sizeof(number));
  stream_.Write({header, sizeof(header)});
}

uint32_t Mux::Open() {
  const uint32_t id = ++last_id_;
  channels_.try_emplace(id);
  Send(kOpen, id, 0);
  return id;
}

std::string_view Mux::Peek(uint32_t id) const {
  const auto found = channels_.find(id);
  return found == channels_.end() ? "" : std::string_view(found->second.in).substr(found->second.in_at);
}

void Mux::Consume(uint32_t id, size_t bytes) {
  Channel& channel = channels_.at(id);
  MUSTER_CHECK(bytes <= channel.in.size() - channel.in_at, "no more is consumed than there is");
  channel.in_at += bytes;
  buffered_ -= bytes;
  if (channel.in_at == channel.in.size()) {
    channel.in.clear();
    if (channel.in.capacity() > kKeptInCapacity) channel.in.shrink_to_fit();
    channel.in_at = 0;
  }
  Credit(id, channel, bytes);
}

// Sends credit only in large steps, so that a short answer does not cause a frame for its credit.
void Mux::Credit(uint32_t id, Channel& channel, size_t bytes) {
  channel.owed += bytes;
  if (channel.owed < kWindow / 2 || channel.is_at_end) return;
  Send(kCredit, id, static_cast<uint32_t>(channel.owed));
  channel.owed = 0;
}

bool Mux::IsAtEnd(uint32_t id) const {
  const auto found = channels_.find(id);
  return found == channels_.end() || (found->second.is_at_end && found->second.in.empty());
}

size_t Mux::Room(uint32_t id) {
  const auto found = channels_.find(id);
  if (found == channels_.end() || found->second.is_closed) return 0;
  // Once full, the link stays full until it has room for all connections. Otherwise the first one would take all of the
  // room.
  if (stream_.room() < (is_full_ ? kRoomForAll : kLeastRoom)) {
    is_full_ = true;
    return 0;
  }
  return std::min(found->second.window, stream_.room());
}

size_t Mux::RoomOfNext() const { return stream_.room() < kLeastRoom ? 0 : std::min(kWindow, stream_.room()); }

void Mux::Write(uint32_t id, std::string_view bytes) {
  Channel& channel = channels_.at(id);
  MUSTER_CHECK(bytes.size() <= channel.window, "no more is written than there is room for");
  channel.window -= bytes.size();
  Send(kData, id, static_cast<uint32_t>(bytes.size()));
  stream_.Write(bytes);
}

void Mux::Close(uint32_t id) {
  const auto found = channels_.find(id);
  if (found == channels_.end() || found->second.is_closed) return;
  Send(kClose, id, 0);
  found->second.is_closed = true;
  if (side_ == Side::kRelay) return;
  buffered_ -= found->second.in.size() - found->second.in_at;
  if (found->second.is_at_end) --closed_there_;
  channels_.erase(found);
}

void Mux::Drop(uint32_t id) {
  Close(id);
  const auto found = channels_.find(id);
  if (found == channels_.end()) return;
  if (const size_t rest = Peek(id).size(); rest > 0) Consume(id, rest);
  found->second.is_dropped = true;
  if (!found->second.is_at_end) return;
  --closed_there_;
  channels_.erase(found);
}

absl::Status Mux::Receive(std::string_view bytes) {
  if (absl::Status status = stream_.Receive(bytes, [this](std::string_view part) { return Take(part); });
      !status.ok()) {
    return status;
  }
  if (stream_.kept() > kMaxOwed) {
    return absl::ResourceExhaustedError("the other side of a link asks for more data than it confirms");
  }
  if (is_full_ && stream_.room() >= kRoomForAll) {
    is_full_ = false;
    events_.has_room();
  }
  return absl::OkStatus();
}

absl::Status Mux::Take(std::string_view bytes) {
  while (!bytes.empty()) {
    if (data_left_ > 0) {
      const std::string_view part = bytes.substr(0, data_left_);
      bytes.remove_prefix(part.size());
      data_left_ -= part.size();
      TakeData(part);
      continue;
    }
    const size_t part = std::min(bytes.size(), kFrameHeaderBytes - header_.size());
    header_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (header_.size() < kFrameHeaderBytes) break;
    uint32_t id = 0;
    uint32_t number = 0;
    std::memcpy(&id, header_.data() + 1, sizeof(id));
    std::memcpy(&number, header_.data() + 1 + sizeof(id), sizeof(number));
    const auto kind = static_cast<uint8_t>(header_[0]);
    header_.clear();
    if (absl::Status status = TakeFrame(kind, id, number); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Mux::TakeFrame(uint8_t kind, uint32_t id, uint32_t number) {
  if (kind == kOpen) return TakeOpen(id);
  if (id == 0 || id > last_id_) return Refused("not open", id);
  const auto found = channels_.find(id);
  const bool is_here = found != channels_.end();
  // Credit may still come: it is for bytes that this side has sent.
  if (is_here && found->second.is_at_end && kind != kCredit) return Refused("closed", id);
  switch (kind) {
    case kData: {
      // A connection that was closed here holds no unread bytes. These were under way when it was closed.
      const size_t unread = is_here ? found->second.in.size() - found->second.in_at + found->second.owed : 0;
      if (number == 0 || number > kWindow - std::min(unread, kWindow)) return Refused("more than the window", id);
      data_id_ = id;
      data_left_ = number;
      return absl::OkStatus();
    }
    case kClose:
      return TakeClose(id);
    case kCredit:
      if (!is_here) return absl::OkStatus();
      if (number > kWindow - found->second.window) return Refused("more credit than was used", id);
      found->second.window += number;
      events_.touched(id);
      return absl::OkStatus();
    default:
      return Refused(absl::StrCat("kind ", kind), id);
  }
}

absl::Status Mux::TakeOpen(uint32_t id) {
  if (side_ != Side::kStore || id != last_id_ + 1) return Refused("opened", id);
  last_id_ = id;
  channels_.try_emplace(id);
  events_.opened(id);
  return absl::OkStatus();
}

absl::Status Mux::TakeClose(uint32_t id) {
  const auto found = channels_.find(id);
  if (found == channels_.end()) return absl::OkStatus();
  if (found->second.is_dropped) {
    channels_.erase(found);
    return absl::OkStatus();
  }
  found->second.is_at_end = true;
  ++closed_there_;
  events_.touched(id);
  return absl::OkStatus();
}

void Mux::TakeData(std::string_view bytes) {
  const auto found = channels_.find(data_id_);
  if (found == channels_.end()) return;
  if (found->second.is_dropped) return Credit(data_id_, found->second, bytes.size());
  found->second.in.append(bytes);
  buffered_ += bytes.size();
  events_.touched(data_id_);
}

}  // namespace muster::torch_store
