// Finds the user of the process at the other end of a TCP connection within this machine, as the kernel knows it, and
// decides if the connection is served.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/tcp_server/server.h"

namespace muster::agent {

struct SocketOwner {
  enum class Answer {
    kFound,
    kNone,           // the socket is closed already, or belongs to another network namespace
    kCannotBeAsked,  // the kernel does not answer, or a sandbox blocks the question
  };
  Answer answer = Answer::kNone;
  uid_t uid = 0;  // of the socket's creator, as this process's user namespace sees it
};

// Looks up the owner of the socket `client`. `server` is this process's own end.
SocketOwner OwnerOf(const SocketAddress& client, const SocketAddress& server);

// Returns why a connection is not served; empty: it is served. Only this machine's processes of the user `own` and of
// root are served. If the kernel can't be asked, processes of all users are served.
std::string WhyNotServed(const SocketAddress& client, const SocketOwner& owner, uid_t own);

// Asks the kernel for the owner of `client`, a client of this process's socket `server`, and returns what WhyNotServed
// says. Fits TcpServerOptions::why_not.
std::string WhyNotOfThisUser(const SocketAddress& client, const SocketAddress& server);

// Options for ports that only this machine's processes of this user may use.
inline TcpServerOptions OnlyForThisUser(size_t max_connections) {
  TcpServerOptions options;
  options.max_connections = max_connections;
  options.why_not = WhyNotOfThisUser;
  return options;
}

}  // namespace muster::agent
