#include "common/tcp_server/connection.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr absl::Duration kHandshakeTimeout = absl::Seconds(10);

}  // namespace

TcpConnection::TcpConnection(Stream stream, TcpClient client, TcpServerContext& context)
    : stream_(std::move(stream)),
      client_(std::move(client)),
      context_(context),
      last_heard_(context.now),
      tls_begun_at_(context.now) {}

void TcpConnection::Finish(const std::string& reason) {
  if (is_finished_) return;
  is_finished_ = true;
  reason_ = reason;
}

void TcpConnection::Open(const std::shared_ptr<const TlsServerContext>& context, const std::string& why_not) {
  bool is_tls = false;
  switch (stream_.LooksLikeTls(&is_tls)) {
    case Stream::Io::kAgain:
      return;
    case Stream::Io::kClosed:
    case Stream::Io::kFailed:
      return Finish("");
    case Stream::Io::kDone:
      break;
  }
  if (!is_tls) {
    opening_ = Opening::kOpen;
  } else if (context == nullptr) {
    Finish(absl::StrCat("it speaks TLS, ", why_not));
  } else if (stream_.BeginTls(context)) {
    opening_ = Opening::kHandshake;
    tls_begun_at_ = context_.now;
  } else {
    Finish("no memory for TLS");
  }
}

void TcpConnection::Dial(const std::shared_ptr<const TlsServerContext>& context) {
  opening_ = context != nullptr ? Opening::kHandshake : Opening::kOpen;
  if (context != nullptr && !stream_.DialTls(context)) Finish("no memory for TLS");
}

void TcpConnection::ShakeHands() {
  switch (stream_.Handshake()) {
    case Stream::Io::kAgain:
      return;
    case Stream::Io::kClosed:
    case Stream::Io::kFailed:
      return Finish(absl::StrCat("the TLS handshake failed: ", stream_.error()));
    case Stream::Io::kDone:
      break;
  }
  opening_ = Opening::kOpen;
  client_.name = stream_.client().name;
  HasOpened();
}

void TcpConnection::CheckTimes() {
  if (opening_ == Opening::kHandshake && context_.now - tls_begun_at_ > kHandshakeTimeout) {
    Finish("its TLS handshake took too long");
  }
}

void TcpConnection::CheckTrust(const TrustBase& trust) {
  // Checked during a handshake, too, because the certificate may already be known then.
  if (is_finished_ || !stream_.has_tls()) return;
  const TlsRefusal refusal = CheckStillGood(trust, stream_.client().chain);
  if (!refusal.ok()) Finish(refusal.text);
}

}  // namespace muster
