// Who is served, by how the connection begins:
//
//                      TLS        a link's first byte    anything else
//   no links here      (refused)  client, who fails      client
//   links, this host   link       link, without TLS      client
//   links, another     link       likewise               refused
#include "worker_agent/gateway/torch_store/connection.h"

#include <string>
#include <utility>

#include "common/net/net.h"

namespace muster::torch_store {

Connection::Connection(Stream stream, const TcpClient& client, Shared& shared, Links* links, TcpServerContext& context)
    : TcpConnection(std::move(stream), client, context), shared_(shared), links_(links) {}

// What was cut for a reason does not come back.
Connection::~Connection() {
  if (link_ != nullptr && !reason().empty()) link_->EndSession();
}

bool Connection::Recognise() {
  if (speaker_ || link_ != nullptr) return true;
  bool is_link = links_ != nullptr && stream_.has_tls();
  if (!is_link && links_ != nullptr) {
    char first = 0;
    const Stream::Io io = stream_.Peek(&first);
    if (io == Stream::Io::kAgain) return false;
    if (io != Stream::Io::kDone) {
      Finish("");
      return false;
    }
    is_link = first == kLinkByte && !links_->options().needs_tls;
  }
  if (is_link) {
    link_ = std::make_unique<LinkEnd>(stream_, client_, *links_, context_);
    return true;
  }
  if (links_ != nullptr && !IsLocalAddress(client_.address)) {
    Finish(
        "it is a process of another machine; with --torch_store_relay they reach the store through their own agent, at "
        "MASTER_ADDR and MASTER_PORT");
    return false;
  }
  speaker_.emplace(client_.connection, static_cast<Channel&>(*this), shared_, context_);
  return true;
}

bool Connection::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen || !Recognise()) return false;
  if (link_ != nullptr) {
    const absl::StatusOr<bool> has_more = link_->Serve();
    if (!has_more.ok()) Finish(std::string(has_more.status().message()));
    return has_more.ok() && *has_more;
  }
  if (has_ended_) speaker_->NoteEnd();
  const bool has_more = speaker_->Serve();
  last_heard_ = speaker_->last_heard();
  if (speaker_->is_finished()) Finish(speaker_->reason());
  return has_more;
}

bool Connection::wants_read() const { return !is_finished_ && !has_ended_ && (!speaker_ || speaker_->wants_read()); }

bool Connection::wants_write() const {
  if (link_ != nullptr) return link_->wants_write();
  return speaker_ && speaker_->wants_write();
}

size_t Connection::input_bytes() const {
  if (link_ != nullptr) return link_->input_bytes();
  return speaker_ ? speaker_->input_bytes() : 0;
}

bool Connection::has_spoken() const {
  if (link_ != nullptr) return link_->has_session();
  return speaker_ && speaker_->has_spoken();
}

void Connection::FlushAtEnd() {
  if (opening_ != Opening::kOpen) return;
  if (link_ != nullptr) {
    link_->Flush();
  } else if (speaker_) {
    speaker_->Write();
  }
}

void Connection::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  if (link_ != nullptr) {
    if (const std::string late = link_->CheckTimes(); !late.empty()) Finish(late);
  } else if (speaker_) {
    speaker_->CheckTimes();
    if (speaker_->is_finished()) Finish(speaker_->reason());
  }
}

}  // namespace muster::torch_store
