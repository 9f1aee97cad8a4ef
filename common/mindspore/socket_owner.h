// Whose process holds the other end of a TCP connection within this machine, as the kernel knows it.
#pragma once

#include <sys/types.h>

#include "common/tcp_server/socket_address.h"

namespace muster::mindspore {

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

}  // namespace muster::mindspore
