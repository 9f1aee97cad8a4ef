#include "scheduler/ingress/http2/relayed_connection.h"

#include <sys/epoll.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {
namespace {

// In one turn of a connection; then the others get theirs. Records of TLS may hold a byte each, so reads count, too.
constexpr size_t kTurnBytes = 4 * RelayedConnection::kPieceBytes;
constexpr int kTurnReads = 64;

}  // namespace

RelayedConnection::RelayedConnection(uint64_t id, UniqueFd client, std::shared_ptr<const TlsServerContext> tls,
                                     MonotonicTime now)
    : id_(id), begun_at_(now), tls_(std::move(tls)), client_(std::move(client)) {}

void RelayedConnection::Note(Side side, uint32_t epoll_events) {
  Way& read = side == Side::kClient ? in_ : out_;
  Way& written = side == Side::kClient ? out_ : in_;
  const bool is_end = (epoll_events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
  if (is_end) read.may_end = true;
  // With TLS a read may wait for the socket to become writable.
  const bool waits_to_write = side == Side::kClient && client_.wants_write();
  if (is_end || (epoll_events & EPOLLIN) != 0 || waits_to_write) read.is_readable = true;
  if (is_end || (epoll_events & EPOLLOUT) != 0) written.is_writable = true;
}

RelayedConnection::Step RelayedConnection::Turn(char* scratch, MonotonicTime now) {
  if (!is_open()) return ShakeHands();
  if (!Carry(in_, client_, inner_, scratch, now) || !Carry(out_, inner_, client_, scratch, now)) return Step::kOver;
  // gRPC's end is the end of all; a client may end its side first and still be told something.
  if (out_.is_closed) return Step::kOver;
  if (out_.has_ended && cut_at_.is_never()) cut_at_ = now + kLinger;
  const auto has_work = [](const Way& way) {
    return !way.is_closed && way.is_writable && (!way.pending.empty() || way.is_readable);
  };
  return has_work(in_) || has_work(out_) ? Step::kMore : Step::kWait;
}

RelayedConnection::Step RelayedConnection::ShakeHands() {
  if (tls_ != nullptr && !client_.BeginTls(std::exchange(tls_, nullptr))) {
    SetEnd(RelayEnd::Kind::kNoRoom, "no memory for TLS");
    return Step::kOver;
  }
  switch (client_.Handshake()) {
    case Stream::Io::kDone:
      in_.is_readable = true;  // what came behind the handshake may have been read already
      return Step::kReady;
    case Stream::Io::kAgain:
      return Step::kWait;
    case Stream::Io::kClosed:
    case Stream::Io::kFailed:
      break;
  }
  end_.fault = client_.refusal().fault;
  SetEnd(end_.fault == TlsFault::kNone ? RelayEnd::Kind::kEnded : RelayEnd::Kind::kRefused, client_.error());
  return Step::kOver;
}

void RelayedConnection::SetEnd(RelayEnd::Kind kind, std::string text) {
  end_.kind = kind;
  end_.text = std::move(text);
}

bool RelayedConnection::Broken(const Stream& stream) {
  SetEnd(RelayEnd::Kind::kEnded, stream.error());
  return false;
}

bool RelayedConnection::Carry(Way& way, Stream& from, Stream& to, char* scratch, MonotonicTime now) {
  const bool is_in = &way == &in_;
  size_t carried = 0;
  for (int reads = 0; !way.is_closed && carried < kTurnBytes && reads < kTurnReads; ++reads) {
    if (!way.pending.empty()) {
      if (!way.is_writable) return true;
      const std::string held = std::exchange(way.pending, {});
      if (!Write(way, to, held)) {
        if (!is_in) return Broken(to);
        way.has_ended = way.is_closed = true;  // gRPC takes no more; what it has said still goes out
        return true;
      }
      if (!way.pending.empty()) return true;
    }
    if (way.has_ended) {
      to.EndWriting();
      way.is_closed = true;
      return true;
    }
    if (!way.is_readable || !way.is_writable) return true;
    size_t got = 0;
    switch (from.Read(scratch, kPieceBytes, &got)) {
      case Stream::Io::kAgain:
        way.is_readable = false;
        return true;
      case Stream::Io::kFailed:
        if (is_in) return Broken(from);
        [[fallthrough]];
      case Stream::Io::kClosed:
        way.has_ended = true;
        continue;
      case Stream::Io::kDone:
        break;
    }
    const std::string_view bytes(scratch, got);
    if (is_in) {
      if (const std::optional<FrameGuard::Breach> breach = guard_.Take(bytes, now)) {
        end_.what = breach->kind;
        SetEnd(RelayEnd::Kind::kBreach, breach->text);
        return false;
      }
    }
    // Less than was asked for: there is no more until the next edge (epoll(7)).
    if (got < kPieceBytes && !from.has_tls() && !way.may_end) way.is_readable = false;
    if (!Write(way, to, bytes)) {
      if (!is_in) return Broken(to);
      way.has_ended = way.is_closed = true;
      return true;
    }
    carried += got;
  }
  return true;
}

bool RelayedConnection::Write(Way& way, Stream& to, std::string_view bytes) {
  while (!bytes.empty()) {
    size_t done = 0;
    const Stream::Io io = to.Write(bytes, &done);
    if (io == Stream::Io::kAgain) {
      way.is_writable = false;
      break;
    }
    if (io != Stream::Io::kDone) return false;
    bytes.remove_prefix(done);
  }
  way.pending.assign(bytes);
  return true;
}

}  // namespace muster::scheduler
