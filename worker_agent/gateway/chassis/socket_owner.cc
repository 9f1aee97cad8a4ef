#include "worker_agent/gateway/chassis/socket_owner.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/net/net.h"

namespace muster::agent {
namespace {

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

Request Asking(const SocketAddress& client, const SocketAddress& server) {
  Request request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = client.address.is_v6() ? AF_INET6 : AF_INET;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  request.body.id.idiag_sport = htons(client.port);
  request.body.id.idiag_dport = htons(server.port);
  std::memcpy(request.body.id.idiag_src, client.address.bytes().data(), client.address.bytes().size());
  std::memcpy(request.body.id.idiag_dst, server.address.bytes().data(), server.address.bytes().size());
  request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

SocketOwner Understood(const char* bytes, size_t size) {
  nlmsghdr header{};
  if (size < sizeof(header)) return {SocketOwner::Answer::kCannotBeAsked};
  std::memcpy(&header, bytes, sizeof(header));
  if (header.nlmsg_type == NLMSG_ERROR && size >= NLMSG_HDRLEN + sizeof(nlmsgerr)) {
    nlmsgerr error{};
    std::memcpy(&error, bytes + NLMSG_HDRLEN, sizeof(error));
    return {error.error == -ENOENT ? SocketOwner::Answer::kNone : SocketOwner::Answer::kCannotBeAsked};
  }
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || size < NLMSG_HDRLEN + sizeof(inet_diag_msg)) {
    return {SocketOwner::Answer::kCannotBeAsked};
  }
  inet_diag_msg found{};
  std::memcpy(&found, bytes + NLMSG_HDRLEN, sizeof(found));
  // A socket that its process has closed has no inode, and the kernel names root as its owner.
  if (found.idiag_inode == 0) return {SocketOwner::Answer::kNone};
  return {SocketOwner::Answer::kFound, found.idiag_uid};
}

}  // namespace

SocketOwner OwnerOf(const SocketAddress& client, const SocketAddress& server) {
  const UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const timeval limit{.tv_sec = 0, .tv_usec = 100'000};  // the kernel answers at once, or never
  if (!fd.is_open() || setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0) {
    return {SocketOwner::Answer::kCannotBeAsked};
  }
  const Request request = Asking(client, server);
  alignas(nlmsghdr) std::array<char, 4096> answer{};
  if (send(fd.get(), &request, sizeof(request), 0) != static_cast<ssize_t>(sizeof(request))) {
    return {SocketOwner::Answer::kCannotBeAsked};
  }
  const ssize_t size = recv(fd.get(), answer.data(), answer.size(), 0);
  if (size < 0) return {SocketOwner::Answer::kCannotBeAsked};
  return Understood(answer.data(), static_cast<size_t>(size));
}

std::string WhyNotServed(const SocketAddress& client, const SocketOwner& owner, uid_t own) {
  if (!client.address.is_loopback() && !IsLocalAddress(client.address)) {
    return "only processes of this machine are served here";
  }
  switch (owner.answer) {
    case SocketOwner::Answer::kFound:
      if (owner.uid == own || owner.uid == 0) return "";
      return absl::StrCat("it belongs to user number ", owner.uid, "; only processes of user number ", own,
                          " (ms-worker's own) and of root are served here");
    case SocketOwner::Answer::kNone:
      return "its process can't be found: it has ended, or is in another network namespace";
    case SocketOwner::Answer::kCannotBeAsked:
      return "";
  }
  return "";
}

std::string WhyNotOfThisUser(const SocketAddress& client, const SocketAddress& server) {
  return WhyNotServed(client, OwnerOf(client, server), geteuid());
}

}  // namespace muster::agent
