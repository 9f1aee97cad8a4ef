#include "worker_agent/gateway/chassis/grpc_door.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/gateway/chassis/socket_owner.h"

namespace muster::agent {
namespace {

constexpr int kBacklog = 1024;

}  // namespace

absl::Status GrpcDoor::Open() {
  absl::StatusOr<UniqueFd> listener =
      ListenOn(*IpAddress::Parse("127.0.0.1"), 0, kBacklog, absl::StrCat(whose_, " processes"));
  if (!listener.ok()) return listener.status();
  listener_ = *std::move(listener);
  const absl::StatusOr<SocketAddress> own = LocalEnd(listener_.get());
  if (!own.ok()) return own.status();
  own_ = *own;
  return poller_.Add(listener_.get(), EPOLLIN, key_);
}

void GrpcDoor::Admit(const std::function<void(UniqueFd client)>& take) {
  while (true) {
    SocketAddress client;
    UniqueFd socket = AcceptFrom(listener_.get(), client);
    if (!socket.is_open()) return RestOrListen(errno);
    const std::string why = WhyNotOfThisUser(client, own_);
    if (!why.empty()) {
      counted_.Note(Severity::kWarning, "gateway: not let in",
                    absl::StrCat(whose_, " gateway turned a connection away: ", why));
      continue;
    }
    take(std::move(socket));
  }
}

// Without a descriptor for a client the listener would be ready all the time: it is looked at now and then.
void GrpcDoor::RestOrListen(int error) {
  const bool is_out = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  if (is_out == is_resting_) return;
  if (is_out) {
    Log(Severity::kWarning, absl::StrCat(whose_, " gateway can't take another connection: ", std::strerror(error)));
    poller_.Remove(listener_.get());
    is_resting_ = true;
  } else {
    is_resting_ = !poller_.Add(listener_.get(), EPOLLIN, key_).ok();
  }
}

}  // namespace muster::agent
