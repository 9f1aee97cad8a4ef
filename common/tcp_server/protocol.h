// The protocol at a TcpServer's ports. Every call comes from the server's one thread and must not block.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "common/tcp_server/connection.h"

namespace muster {

class TcpProtocol {
 public:
  // `name` is for people: "MindSpore".
  struct Words {
    std::string name;
    std::string thread;       // of the server's thread, at most 15 letters
    std::string without_tls;  // the remedy if a client speaks TLS and none is configured: "set it, or …"
    std::string with_tls;     // the remedy if it does not, and must
  };

  virtual ~TcpProtocol() = default;

  virtual const Words& words() const = 0;
  // `own_address`: the local end, host:port. `context` outlives the connection.
  virtual std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& own_address,
                                                TcpServerContext& context) = 0;
  virtual void Closed(const TcpClient& client) = 0;
  // The first call and the last one: connections and `context` exist until after End.
  virtual void Begin(TcpServerContext& /*context*/) {}
  virtual void End() {}
  // Returns the object for a connection that TcpServerContext::dial has begun. The socket may still be connecting: the
  // first write goes out once it is connected.
  virtual std::unique_ptr<TcpConnection> Dialed(Stream /*stream*/, const TcpClient& /*client*/,
                                                TcpServerContext& /*context*/) {
    return nullptr;
  }
  // Makes the connection for TcpServerContext::adopt.
  virtual std::unique_ptr<TcpConnection> Adopted(Stream /*stream*/, const TcpClient& /*client*/,
                                                 TcpServerContext& /*context*/) {
    return nullptr;
  }
  // If the sum of TcpConnection::input_bytes exceeds this, the connection that holds most of it is cut.
  virtual size_t MaxInputBytes() const = 0;
  // Called at that point, before a connection is cut: frees counted input that belongs to no connection.
  virtual void FreeInput() {}
  // Returns the connections that must not be closed to make room for new ones.
  virtual std::set<uint64_t> Needed() { return {}; }
  // Called at least four times a second; if HasTimers is false, less often while no client is connected.
  virtual void Tick() {}
  virtual bool HasTimers() const { return false; }
};

}  // namespace muster
