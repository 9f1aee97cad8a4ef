#include "worker_agent/gateway/torch_store/relay/uplink.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/net.h"

namespace muster::torch_store {
namespace {

constexpr absl::Duration kFirstBackOff = absl::Milliseconds(50);
constexpr absl::Duration kLongestBackOff = absl::Seconds(1);
constexpr absl::Duration kPatience = absl::Seconds(3);  // without a link, before that is said
constexpr absl::Duration kAnswerTimeout = absl::Seconds(10);
constexpr size_t kLeastShare = 4 * 1024;
constexpr absl::Duration kHeldBack = absl::Milliseconds(1);

std::string RandomSession() {
  std::random_device random;  // getrandom, or the processor's
  std::string session;
  while (session.size() < kSessionBytes) {
    const uint32_t number = random();
    session.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  return session;
}

}  // namespace

void Uplink::Begin(TcpServerContext& context) {
  context_ = &context;
  hello_ = options_.hello;
  down_since_ = context.now;
  back_off_ = kFirstBackOff;
  NewSession();
}

void Uplink::NewSession() {
  hello_.is_new = true;
  hello_.session = RandomSession();
  mux_ = std::make_unique<Mux>(Mux::Side::kRelay, Mux::Events{.opened = [](uint32_t) {},
                                                              .touched =
                                                                  [this](uint32_t id) {
                                                                    const auto found = clients_.find(id);
                                                                    if (found != clients_.end()) found->second->Touch();
                                                                  },
                                                              .has_room =
                                                                  [this] {
                                                                    for (const auto& [id, c] : clients_) c->Touch();
                                                                  }});
}

uint32_t Uplink::Enter(LocalClient& client) {
  const uint32_t id = mux_->Open();
  clients_.emplace(id, &client);
  TouchLink();
  return id;
}

void Uplink::Leave(uint32_t id) {
  clients_.erase(id);
  mux_->Drop(id);
  TouchLink();
}

size_t Uplink::Share() const {
  return std::max(kLeastShare, mux_->stream().room() / std::max<size_t>(clients_.size(), 1));
}

void Uplink::TouchLink() {
  if (is_up_ && !has_ended_) context_->touch(link_);
}

LinkHello Uplink::Hello() const {
  LinkHello hello = hello_;
  hello.received = mux_->stream().received();
  return hello;
}

absl::Status Uplink::GoOn(uint64_t received_there) {
  if (absl::Status status = mux_->stream().Resume(received_there); !status.ok()) return status;
  hello_.is_new = false;
  is_up_ = true;
  back_off_ = kFirstBackOff;
  for (const auto& [id, client] : clients_) client->Touch();
  return absl::OkStatus();
}

void Uplink::Lose(const std::string& reason) {
  for (const auto& [id, client] : std::exchange(clients_, {})) client->Lose(reason);
  is_up_ = false;
  NewSession();
}

void Uplink::DialIfDue() {
  if (link_ != 0 || context_->now < dial_at_) return;
  link_ = context_->dial(options_.store);
  if (link_ == 0) LinkEnded("no connection can be made from here", false);
}

void Uplink::LinkEnded(const std::string& reason, bool is_refusal) {
  if (has_ended_) return;
  if (is_up_) down_since_ = context_->now;
  is_up_ = false;
  link_ = 0;
  dial_at_ = context_->now + back_off_;
  back_off_ = std::min(back_off_ * 2, kLongestBackOff);
  if (context_->now - down_since_ < kPatience) return;
  if (is_refusal) {
    context_->counted->Note(
        Severity::kWarning, "PyTorch's store: link refused",
        absl::StrCat("rank 0's agent, which has PyTorch's store, does not let this agent's link in: ",
                     EscapeControl(reason), "; the processes of this machine wait meanwhile"));
    return;
  }
  context_->counted->Note(
      Severity::kWarning, "PyTorch's store: no link",
      absl::StrCat("rank 0's agent, which has PyTorch's store, can't be reached at ",
                   JoinHostPort(options_.store.address.ToString(), options_.store.port), ": ", reason,
                   "; the processes of this machine wait meanwhile. Open that port between the machines, or start "
                   "all agents with --torch_store_relay=false"));
}

LocalClient::~LocalClient() {
  if (id_ != 0) uplink_.Leave(id_);
}

void LocalClient::Lose(const std::string& reason) {
  id_ = 0;
  Finish(reason);
  Touch();
}

bool LocalClient::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  Write();
  if (!is_finished_ && wants_read()) Read();
  if (id_ == 0) {
    if (has_ended_) Finish("");
    return false;
  }
  if (has_ended_) uplink_.mux().Close(id_);
  if (!is_finished_ && uplink_.mux().IsAtEnd(id_)) Finish("");
  uplink_.TouchLink();
  return false;
}

void LocalClient::Read() {
  std::vector<char>& bytes = uplink_.scratch();
  size_t done = 0;
  const Stream::Io io = stream_.Read(bytes.data(), std::min({bytes.size(), Room(), uplink_.Share()}), &done);
  if (io == Stream::Io::kDone) {
    has_spoken_ = true;
    last_heard_ = context_.now;
    if (id_ == 0) id_ = uplink_.Enter(*this);
    uplink_.mux().Write(id_, {bytes.data(), done});
  }
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) has_ended_ = true;
}

void LocalClient::Write() {
  while (!uplink_.mux().Peek(id_).empty()) {
    size_t done = 0;
    const Stream::Io io = stream_.Write(uplink_.mux().Peek(id_), &done);
    if (io == Stream::Io::kAgain) return;
    if (io != Stream::Io::kDone) return Finish("");
    uplink_.mux().Consume(id_, done);
  }
}

void StoreLink::Break(const std::string& why) {
  why_ = why;
  Finish("");
}

void StoreLink::HasOpened() {
  const std::string why = uplink_.options().why_not ? uplink_.options().why_not(client_.name) : "";
  if (!why.empty()) Break(why);
}

bool StoreLink::wants_write() const {
  if (opening_ == Opening::kHandshake) return stream_.wants_write();
  return !has_greeted_ || !pipe_.is_empty() || (has_answer_ && !is_held_back_ && uplink_.mux().stream().has_more());
}

bool StoreLink::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  if (!has_greeted_) {
    has_greeted_ = true;
    SetDeadPeerDetection(stream_.fd());
    pipe_.Say(HelloBytes(uplink_.Hello()));
  }
  Read();
  if (!is_finished_) Write();
  return false;
}

void StoreLink::Write() {
  ResumableStream* const stream = has_answer_ ? &uplink_.mux().stream() : nullptr;
  const bool has_more = stream != nullptr && stream->has_more();
  is_held_back_ = has_more && awaits_ && pipe_.is_empty() && context_.now - written_at_ < kHeldBack;
  if (is_held_back_) return;
  if (has_more) {
    awaits_ = true;
    written_at_ = context_.now;
  }
  const Stream::Io io = pipe_.Write(stream_, stream);
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) Break(stream_.error());
}

void StoreLink::Read() {
  std::vector<char>& bytes = uplink_.scratch();
  size_t done = 0;
  switch (stream_.Read(bytes.data(), bytes.size(), &done)) {
    case Stream::Io::kAgain:
      return;
    case Stream::Io::kClosed:
      if (answer_.empty() && !has_answer_) uplink_.TryOtherVersion();
      return Break("the connection was closed there");
    case Stream::Io::kFailed:
      if (answer_.empty() && !has_answer_) uplink_.TryOtherVersion();
      return Break(stream_.error());
    case Stream::Io::kDone:
      break;
  }
  awaits_ = false;
  if (absl::Status status = Take({bytes.data(), done}); !status.ok()) {
    const std::string why(status.message());
    uplink_.Lose(why);
    Break(why);
  }
}

absl::Status StoreLink::Take(std::string_view bytes) {
  if (has_answer_) return uplink_.mux().Receive(bytes);
  answer_.append(bytes);
  std::string_view rest = answer_;
  const absl::StatusOr<std::optional<LinkAnswer>> answer = TakeAnswer(rest);
  if (!answer.ok()) return answer.status();
  if (!answer->has_value()) return absl::OkStatus();
  if (!(*answer)->refusal.empty()) {
    is_refused_ = true;
    Break((*answer)->refusal);  // the session stays: it may be let in later
    return absl::OkStatus();
  }
  if (!(*answer)->goes_on) return absl::NotFoundError("rank 0's agent has given up on this machine: it was away");
  if (absl::Status status = uplink_.GoOn((*answer)->received); !status.ok()) return status;
  has_answer_ = true;
  return uplink_.mux().Receive(rest);
}

void StoreLink::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  if (!has_answer_ && context_.now - begun_at_ > kAnswerTimeout) Break("it does not answer");
  if (has_answer_) uplink_.mux().stream().Acknowledge();
}

}  // namespace muster::torch_store
