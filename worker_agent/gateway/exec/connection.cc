#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/net.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/exec/command_reports.h"
#include "worker_agent/gateway/exec/frames.h"
#include "worker_agent/gateway/exec/protocol.h"
#include "worker_agent/gateway/exec/server.h"

namespace muster::exec {
namespace {

constexpr absl::Duration kAskTimeout = absl::Seconds(10);  // to get a request or an answer, or send the last bytes
constexpr absl::Duration kPatience = absl::Seconds(60);    // to reach the other node's agent
constexpr absl::Duration kBetweenTries = absl::Milliseconds(200);
constexpr size_t kReadBytes = 16 * 1024;

}  // namespace

ExecConnection::ExecConnection(Part part, Stream stream, const TcpClient& client, ExecProtocol& protocol,
                               TcpServerContext& context)
    : TcpConnection(std::move(stream), client, context),
      part_(part),
      protocol_(protocol),
      phase_(part == Part::kHolder ? Phase::kPaired : Phase::kAsking),
      phase_since_(context.now) {
  protocol_.Enter(*this);
}

ExecConnection::~ExecConnection() {
  SetInput("");
  protocol_.Leave(*this);
  if (protocol_.has_ended()) return;
  if (ExecConnection* const paired = protocol_.Find(paired_))
    paired->PairedClosed(part_, why_.empty() ? reason() : why_);
}

void ExecConnection::SetInput(std::string in) {
  context_.input_bytes += in.size() - in_.size();
  in_ = std::move(in);
}

void ExecConnection::PairedClosed(Part part, const std::string& why) {
  paired_ = 0;
  if (part == Part::kAsked && phase_ == Phase::kWaiting) {
    why_ = why;
    dial_at_ = context_.now + kBetweenTries;
    return;
  }
  if (part_ == Part::kAsked && phase_ == Phase::kAsking) return End();  // no connection waits for it any more
  phase_ = Phase::kClosing;
  phase_since_ = context_.now;
  context_.touch(client_.connection);
}

size_t ExecConnection::Room() const {
  if (phase_ != Phase::kPaired) return kReadBytes;
  const ExecConnection* const paired = protocol_.Find(paired_);
  return paired == nullptr || paired->out_.size() >= kBufferBytes ? 0 : kBufferBytes - paired->out_.size();
}

bool ExecConnection::wants_read() const { return !is_finished_ && Room() > 0; }

bool ExecConnection::wants_write() const {
  if (opening_ == Opening::kHandshake) return stream_.wants_write();
  return !out_.empty();
}

bool ExecConnection::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  const bool has_more = wants_read() && Read();
  if (!is_finished_) Write();
  return has_more && wants_read();
}

// Returns true if there may be more bytes that no socket event announces.
bool ExecConnection::Read() {
  std::string bytes;
  switch (stream_.Read(std::min(Room(), kReadBytes), bytes)) {
    case Stream::Io::kAgain:
      return false;
    case Stream::Io::kClosed:
      Break("the other side closed the connection");
      return false;
    case Stream::Io::kFailed:
      Break(stream_.error());
      return false;
    case Stream::Io::kDone:
      break;
  }
  last_heard_ = context_.now;
  Take(bytes);
  return stream_.HasHiddenInput();
}

void ExecConnection::Take(std::string_view bytes) {
  if (phase_ == Phase::kClosing) return;
  if (phase_ == Phase::kWaiting) return Finish("it sent more before it got an answer");
  if (phase_ == Phase::kPaired) {
    if (ExecConnection* const paired = protocol_.Find(paired_)) {
      paired->out_ += bytes;
      context_.touch(paired_);
    }
    return;
  }
  if (part_ == Part::kAsker && protocol_.needs_tls() && !stream_.has_tls()) {
    return Refuse(client_.address.ToString(), "it does not speak TLS", v1::RemoteCommands::WRONG_CERTIFICATE);
  }
  in_ += bytes;
  context_.input_bytes += bytes.size();
  if (part_ == Part::kAsked) return TakeAnswer();
  TakeRequest();
}

void ExecConnection::Write() {
  while (!out_.empty()) {
    size_t done = 0;
    const Stream::Io io = stream_.Write(out_, &done);
    if (io == Stream::Io::kAgain) return;
    if (io != Stream::Io::kDone) return Break(stream_.error());
    out_.erase(0, done);
    if (phase_ == Phase::kClosing) phase_since_ = context_.now;  // not stuck, only slow
    if (paired_ != 0) context_.touch(paired_);  // the paired connection may read again, since there is room
  }
  if (phase_ == Phase::kClosing) Finish("");
}

// Ends the connection without a line in the server's log: either this is normal, or the paired connection reports why.
void ExecConnection::Break(const std::string& why) {
  why_ = why;
  Finish("");
}

void ExecConnection::CheckTimes() {
  TcpConnection::CheckTimes();
  if (is_finished_) return;
  const bool is_late = context_.now - phase_since_ > kAskTimeout;
  if (phase_ == Phase::kAsking && is_late)
    part_ == Part::kAsked ? Break("it does not answer") : Finish("it sent no request");
  if (phase_ == Phase::kClosing && is_late) Finish("");
}

// ------------------------------------------------------------------------------------------------------- requests

void ExecConnection::TakeRequest() {
  std::string_view rest = in_;
  const absl::StatusOr<std::optional<Request>> request = exec::TakeRequest(rest);
  if (!request.ok()) return Finish(std::string(request.status().message()));
  if (!request->has_value()) return;
  if (!rest.empty()) return Finish("it sent more before it got an answer");
  SetInput("");
  part_ == Part::kOwn ? AskedByOwn(**request) : AskedByAgent(**request);
}

void ExecConnection::Refuse(const std::string& who, const std::string& why, v1::RemoteCommands::Refusal refusal) {
  if (refusal != v1::RemoteCommands::NOT_REFUSED) {
    v1::RemoteCommands refused;
    refused.set_from(who);
    refused.set_refusal(refusal);
    refused.set_why(why);
    protocol_.Report(std::move(refused));
  }
  context_.counted->Note(Severity::kWarning, "remote commands: refused",
                         absl::StrCat("a remote command of ", who, " was refused: ", why));
  Reply({AnswerCode::kRefused, why});
}

void ExecConnection::Reply(const Answer& answer) {
  out_ += AnswerBytes(answer);
  phase_ = answer.code == AnswerCode::kGo ? Phase::kPaired : Phase::kClosing;
  phase_since_ = context_.now;
  context_.touch(client_.connection);
}

void ExecConnection::AskedByOwn(const Request& request) {
  ucred who{};
  socklen_t size = sizeof(who);
  const bool is_known = ::getsockopt(stream_.fd(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
  const std::string name = absl::StrCat("process ", who.pid, " of user ", who.uid);
  if (!is_known || who.uid != ::geteuid()) {
    return Refuse(name, "it belongs to another user", v1::RemoteCommands::NOT_SERVED);
  }
  const Round* const round = protocol_.round();
  if (round == nullptr) return Refuse(name, "no round runs here");
  if (!IsSameSecret(request.secret, round->token)) {
    return Refuse(name, "MUSTER_EXEC_TOKEN is not this round's, so the process is not of this round",
                  v1::RemoteCommands::WRONG_KEY);
  }
  const Peer* const peer = FindHost(*round, request.to);
  if (peer == nullptr) {
    return Reply({AnswerCode::kUnknown,
                  absl::StrCat(Quoted(request.to),
                               " is no host of this round: use the host file that ms-worker gives the job, or "
                               "the names and addresses that ms-ctl nodes shows")});
  }
  if (request.words.empty()) return Reply({AnswerCode::kRefused, "no command was given"});
  const std::string what = absl::StrCat(" (", Quoted(request.to), "), of ", name, ": ", ShownCommand(request.words));
  if (IsHere(*round, *peer)) {
    Log(Severity::kInfo, absl::StrCat("remote command for this machine", what));
    return Reply({AnswerCode::kHere, ""});
  }
  if (protocol_.CountAsked() >= kMaxAsked) {
    return Refuse(name, absl::StrCat(kMaxAsked, " remote commands are open"), v1::RemoteCommands::TOO_MANY);
  }
  Log(Severity::kInfo, absl::StrCat("remote command for ", EscapeControl(peer->node_id), what));
  host_ = request.to;
  target_ = static_cast<size_t>(peer - round->peers.data());
  request_ = {round->run, round->round, peer->key, round->job, round->own_peer().node_id, peer->node_id, request.words};
  phase_ = Phase::kWaiting;
  phase_since_ = dial_at_ = context_.now;
  // Dialled later, because the server is iterating over its connections here.
  context_.post(client_.connection, [](TcpConnection& own) { static_cast<ExecConnection&>(own).DialIfDue(); });
}

void ExecConnection::DialIfDue() {
  const Round* const round = protocol_.round();
  if (is_finished_ || phase_ != Phase::kWaiting || paired_ != 0 || context_.now < dial_at_ || round == nullptr) return;
  const Peer& peer = round->peers[target_];
  if (peer.addresses.empty() || context_.now - phase_since_ > kPatience) {
    return Refuse("this node",
                  absl::StrCat("the agent of ", EscapeControl(host_), " (", EscapeControl(peer.node_id),
                               ") can't be reached: ", EscapeControl(why_),
                               "; check that its ms-worker runs, and that no firewall blocks its port ", peer.port));
  }
  const SocketAddress to{peer.addresses[tries_++ % peer.addresses.size()], peer.port};
  paired_ = context_.dial(to);
  ExecConnection* const asked = protocol_.Find(paired_);
  if (asked == nullptr) return PairedClosed(Part::kAsked, "no connection can be made from here");
  SetDeadPeerDetection(asked->fd());
  asked->paired_ = client_.connection;
  asked->request_ = request_;
  const absl::StatusOr<std::string> bytes = RequestBytes(request_);
  if (!bytes.ok()) return Refuse("this node", std::string(bytes.status().message()));
  if (!protocol_.needs_tls()) asked->out_ = *bytes;  // with TLS, HasOpened sends it after the node is verified
}

void ExecConnection::HasOpened() {
  if (part_ != Part::kAsked) return;
  if (const std::string why = WhyNotNode(client_.name, request_.job, request_.to); !why.empty()) return Break(why);
  const absl::StatusOr<std::string> bytes = RequestBytes(request_);
  if (bytes.ok()) out_ = *bytes;
}

void ExecConnection::TakeAnswer() {
  std::string_view rest = in_;
  const absl::StatusOr<std::optional<Answer>> answer = exec::TakeAnswer(rest);
  if (!answer.ok()) return Break(std::string(answer.status().message()));
  if (!answer->has_value()) return;
  ExecConnection* const own = protocol_.Find(paired_);
  if (own == nullptr) return Finish("");
  if ((*answer)->code == AnswerCode::kGo) {
    own->Reply({});
    own->out_ += rest;
    phase_ = Phase::kPaired;
    return SetInput("");
  }
  if ((*answer)->code == AnswerCode::kRefused) {
    own->paired_ = 0;
    paired_ = 0;
    own->Refuse("this node", absl::StrCat("the agent of ", EscapeControl(own->host_), " (", EscapeControl(request_.to),
                                          ") says: ", EscapeControl((*answer)->text)));
  }
  Break(EscapeControl((*answer)->text));
}

void ExecConnection::AskedByAgent(const Request& request) {
  const std::string who = absl::StrCat(Quoted(request.from), " at ", client_.address.ToString());
  const Judgement judgement =
      Judge(protocol_.round(), request, {client_.address, IsLocalAddress(client_.address), client_.name});
  if (judgement.code == AnswerCode::kLater) return Reply(judgement);
  if (judgement.code != AnswerCode::kGo) return Refuse(who, judgement.text, judgement.refusal);
  if (protocol_.CountServed() >= kMaxServed) {
    return Refuse(who, absl::StrCat(kMaxServed, " remote commands run here"), v1::RemoteCommands::TOO_MANY);
  }
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return Refuse(who, "no descriptors are left");
  UniqueFd ours(pair[0]);
  const UniqueFd theirs(pair[1]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  if (!protocol_.GiveToHolder(theirs)) return Reply({AnswerCode::kLater, "its ms-exec --serve has not started"});
  Log(Severity::kInfo,
      absl::StrCat("remote command of ", who, " in round ", request.round, ": ", ShownCommand(request.words)));
  v1::RemoteCommands run;
  run.set_from(who);
  run.set_words(ShownCommand(request.words));
  protocol_.Report(std::move(run));
  HandOn(request, std::move(ours));
}

void ExecConnection::HandOn(const Request& request, UniqueFd socket) {
  phase_ = Phase::kPaired;
  // Adopted later, because the server is iterating over its connections here.
  context_.post(client_.connection,
                [words = request.words, shared = std::make_shared<UniqueFd>(std::move(socket))](TcpConnection& of) {
                  auto& asker = static_cast<ExecConnection&>(of);
                  asker.paired_ = asker.context_.adopt(std::move(*shared));
                  ExecConnection* const holder = asker.protocol_.Find(asker.paired_);
                  if (holder == nullptr) return asker.Finish("no descriptors are left");
                  holder->paired_ = asker.client_.connection;
                  holder->out_ = FrameBytes(FrameKind::kRun, words);
                  asker.context_.touch(asker.paired_);
                  asker.Reply({});
                });
}

}  // namespace muster::exec
