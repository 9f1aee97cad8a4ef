#include "worker_agent/gateway/torch_store/relay/link_end.h"

#include <utility>
#include <vector>

#include "common/net/net.h"

namespace muster::torch_store {
namespace {

constexpr absl::Duration kHelloTimeout = absl::Seconds(10);

// Nobody is told why.
absl::Status Ended() { return absl::CancelledError(""); }

}  // namespace

LinkEnd::~LinkEnd() {
  const std::shared_ptr<Session> own = session();
  if (own == nullptr) return;
  own->link = 0;
  own->cut_at = context_.now;
}

std::shared_ptr<Session> LinkEnd::session() const {
  std::shared_ptr<Session> own = session_.lock();
  return own != nullptr && own->link == client_.connection ? own : nullptr;
}

void LinkEnd::EndSession() {
  if (const std::shared_ptr<Session> own = session(); own != nullptr) links_.End(*own);
}

size_t LinkEnd::input_bytes() const {
  const std::shared_ptr<Session> own = session();
  return own != nullptr ? own->input_bytes() : 0;
}

absl::StatusOr<bool> LinkEnd::Serve() {
  if (has_session_ && session() == nullptr) return Ended();
  if (absl::Status status = Read(); !status.ok()) return status;
  const std::shared_ptr<Session> own = session();
  const bool has_more = own != nullptr && own->ServeClients();
  if (!Flush()) return Ended();
  return has_more;
}

absl::Status LinkEnd::Read() {
  std::vector<char>& bytes = links_.scratch();
  size_t done = 0;
  switch (stream_.Read(bytes.data(), bytes.size(), &done)) {
    case Stream::Io::kAgain:
      return absl::OkStatus();
    case Stream::Io::kClosed:
    case Stream::Io::kFailed:
      return Ended();
    case Stream::Io::kDone:
      break;
  }
  return Take({bytes.data(), done});
}

absl::Status LinkEnd::Take(std::string_view bytes) {
  if (is_refused_) return absl::OkStatus();
  std::string said;
  if (!has_session_) {
    hello_.append(bytes);
    std::string_view rest = hello_;
    if (absl::Status status = Greet(rest); !status.ok()) return status;
    if (!has_session_) return absl::OkStatus();
    said = rest;
    bytes = said;
    std::string().swap(hello_);
  }
  return session()->Receive(bytes);
}

absl::Status LinkEnd::Greet(std::string_view& bytes) {
  absl::StatusOr<std::optional<LinkHello>> hello = TakeHello(bytes);
  if (!hello.ok()) return hello.status();
  if (!hello->has_value()) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<Session>> session = links_.Attach(**hello, client_, context_);
  if (!session.ok()) {
    if ((*hello)->version < kLinkVersion) return session.status();
    // (What the socket does not take at once is not worth waiting for.)
    pipe_.Say(AnswerBytes({.refusal = std::string(session.status().message())}));
    pipe_.Write(stream_, nullptr);
    return session.status();
  }
  if (*session == nullptr) {
    is_refused_ = true;
    pipe_.Say(AnswerBytes({}));
    return absl::OkStatus();
  }
  SetDeadPeerDetection(stream_.fd());
  session_ = *session;
  has_session_ = true;
  pipe_.Say(AnswerBytes({true, (*session)->stream().received()}));
  return absl::OkStatus();
}

bool LinkEnd::Flush() {
  const std::shared_ptr<Session> own = session();
  const Stream::Io io = pipe_.Write(stream_, own != nullptr ? &own->stream() : nullptr);
  return io == Stream::Io::kDone || io == Stream::Io::kAgain;
}

bool LinkEnd::wants_write() const {
  const std::shared_ptr<Session> own = session();
  return !pipe_.is_empty() || (own != nullptr && own->stream().has_more());
}

std::string LinkEnd::CheckTimes() {
  if (!has_session_) {
    return context_.now - begun_at_ > kHelloTimeout ? "an agent's link that says nothing whole" : "";
  }
  const std::shared_ptr<Session> own = session();
  if (own == nullptr || own->CheckTimes()) context_.touch(client_.connection);
  return "";
}

}  // namespace muster::torch_store
