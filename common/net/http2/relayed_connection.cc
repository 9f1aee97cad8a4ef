#include "common/net/http2/relayed_connection.h"

#include <sys/epoll.h>

#include <utility>

namespace muster {
namespace {

// The limits of one turn, after which other connections get theirs. Reads are limited as well as bytes, because a TLS
// record may hold a single byte.
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
  // With TLS, a read can block until the socket becomes writable.
  const bool waits_to_write = side == Side::kClient && client_.wants_write();
  if (is_end || (epoll_events & EPOLLIN) != 0 || waits_to_write) read.is_readable = true;
  if (is_end || (epoll_events & EPOLLOUT) != 0) written.is_writable = true;
}

RelayedConnection::Step RelayedConnection::Turn(char* scratch, MonotonicTime now) {
  if (!is_open()) return ShakeHands();
  if (is_draining_) return AwaitGrpc(scratch);
  // Output goes first. While a client does not take its output, its input is not read. Otherwise it could make gRPC
  // keep an unlimited amount of answers.
  if (!Carry(out_, inner_, client_, scratch, now)) return Step::kOver;
  const bool is_backed_up = !out_.pending.empty() && !out_.is_closed;
  if (!is_backed_up && !Carry(in_, client_, inner_, scratch, now)) return Step::kOver;
  // If gRPC ends its side, everything ends. A client may end its side first and still receive data.
  if (out_.is_closed) return Step::kOver;
  if (out_.has_ended && cut_at_.is_never()) cut_at_ = now + kLinger;
  const auto has_work = [](const Way& way) {
    return !way.is_closed && way.is_writable && (!way.pending.empty() || way.is_readable);
  };
  const bool is_paused = in_.pending.empty() && guard_.paused_until() > now;
  const bool has_in = !is_backed_up && !is_paused && (has_work(in_) || (!held_.empty() && in_.is_writable));
  return has_in || has_work(out_) ? Step::kMore : Step::kWait;
}

RelayedConnection::Step RelayedConnection::ShakeHands() {
  if (tls_ != nullptr && !client_.BeginTls(std::exchange(tls_, nullptr))) {
    SetEnd(RelayEnd::Kind::kNoRoom, "no memory for TLS");
    return Step::kOver;
  }
  switch (client_.Handshake()) {
    case Stream::Io::kDone:
      in_.is_readable = true;  // the handshake may have read bytes that follow it
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

bool RelayedConnection::Drain(MonotonicTime now) {
  if (!is_open() || is_draining_ || out_.has_ended) return false;
  is_draining_ = true;
  client_.Close();
  inner_.EndWriting();
  held_ = {};
  in_.pending = {};
  cut_at_ = now + kLinger;
  return true;
}

RelayedConnection::Step RelayedConnection::AwaitGrpc(char* scratch) {
  for (int reads = 0; out_.is_readable; ++reads) {
    if (reads == kTurnReads) return Step::kMore;
    size_t got = 0;
    const Stream::Io io = inner_.Read(scratch, kPieceBytes, &got);
    if (io == Stream::Io::kAgain) break;
    if (io != Stream::Io::kDone) return Step::kOver;
  }
  out_.is_readable = false;
  return Step::kWait;
}

void RelayedConnection::SetEnd(RelayEnd::Kind kind, std::string text) {
  end_.kind = kind;
  end_.text = std::move(text);
}

bool RelayedConnection::Broken(const Stream& stream) {
  SetEnd(RelayEnd::Kind::kEnded, stream.error());
  return false;
}

size_t RelayedConnection::ReadNext(Way& way, Stream& from, char* scratch, MonotonicTime now) {
  if (&way == &in_) {
    if (guard_.paused_until() > now) return 0;
    if (!held_.empty()) {
      const std::string held = std::exchange(held_, {});
      return held.copy(scratch, held.size());
    }
  }
  if (way.has_ended || !way.is_readable) return 0;
  size_t got = 0;
  switch (from.Read(scratch, kPieceBytes, &got)) {
    case Stream::Io::kAgain:
      way.is_readable = false;
      return 0;
    case Stream::Io::kFailed:
    case Stream::Io::kClosed:
      way.has_ended = true;
      return 0;
    case Stream::Io::kDone:
      break;
  }
  // After a short read there is no more input until the next edge (epoll(7)).
  if (got < kPieceBytes && !from.has_tls() && !way.may_end) way.is_readable = false;
  return got;
}

bool RelayedConnection::Carry(Way& way, Stream& from, Stream& to, char* scratch, MonotonicTime now) {
  const bool is_in = &way == &in_;
  size_t carried = 0;
  for (int reads = 0; !way.is_closed && carried < kTurnBytes && reads < kTurnReads; ++reads) {
    std::string_view bytes;
    std::string pending;
    if (!way.pending.empty()) {
      if (!way.is_writable) return true;
      pending = std::exchange(way.pending, {});
      bytes = pending;
    } else if (way.is_writable) {
      bytes = std::string_view(scratch, ReadNext(way, from, scratch, now));
      if (bytes.empty()) {
        if (!way.has_ended || (is_in && !held_.empty())) return true;
        if (is_in && !from.error().empty()) return Broken(from);
        to.EndWriting();
        way.is_closed = true;
        return true;
      }
      if (is_in) {
        const FrameGuard::Taken taken = guard_.Take(bytes, now);
        if (taken.breach.has_value()) {
          end_.what = taken.breach->kind;
          SetEnd(RelayEnd::Kind::kBreach, taken.breach->text);
          return false;
        }
        held_.assign(bytes.substr(taken.bytes));
        bytes = bytes.substr(0, taken.bytes);
      }
    } else {
      return true;
    }
    carried += bytes.size();
    if (Write(way, to, bytes)) continue;
    if (!is_in) return Broken(to);
    way.has_ended = way.is_closed = true;  // gRPC takes no more input; the output that it wrote before still goes out
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

}  // namespace muster
