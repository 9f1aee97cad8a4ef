// Whose process holds the other end of a TCP connection within this machine, as the kernel knows it, and whether it is
// served.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/tcp_server/server.h"

namespace muster::agent {

struct SocketOwner {
  enum class Answer {
    kFound,
    kNone,           // it is closed already, or belongs to another network namespace
    kCannotBeAsked,  // this kernel, or what it is confined by, does not tell
  };
  Answer answer = Answer::kNone;
  uid_t uid = 0;  // of who made the socket, as this process's user namespace sees it
};

// `client` is the end that is looked for, `server` this process's own.
SocketOwner OwnerOf(const SocketAddress& client, const SocketAddress& server);

// Why a connection is not served; empty: it is. Only this machine's processes of the user `own` and of root are; where
// the kernel can't be asked whose they are, those of all users.
std::string WhyNotServed(const SocketAddress& client, const SocketOwner& owner, uid_t own);

// The same for a client of this process's socket `server`: asks the kernel. Fits TcpServerOptions::why_not.
std::string WhyNotOfThisUser(const SocketAddress& client, const SocketAddress& server);

// For ports that only this machine's processes of this user may use.
inline TcpServerOptions OnlyForThisUser(size_t max_connections) {
  TcpServerOptions options;
  options.max_connections = max_connections;
  options.why_not = WhyNotOfThisUser;
  return options;
}

}  // namespace muster::agent
