// The peer of a connection, as far as the transport knows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/tls/material/certificate.h"
#include "common/tls/peer/peer_name.h"
#include "common/tls/server/server_context.h"

namespace muster::scheduler {

struct PeerFacts {
  uint64_t connection = 0;  // the connection's number; 0: it has none
  std::string address;      // numeric; empty for the Unix socket
  uint16_t port = 0;
  std::string reached_at;  // numeric: the local address to which the peer connected; empty: not known
  bool is_unix = false;    // came over the admin socket: the scheduler's own user, or root
  // Facts from the peer's certificate; empty without TLS.
  std::string identity;                   // its URI name; empty also if names don't count (--tls_identity=ca-only)
  std::string fingerprint;                // SHA-256 of its DER form, lower-case hexadecimal
  std::optional<PeerName> name;           // `identity`, parsed
  std::vector<Certificate> certificates;  // the peer's own, then the others that it sent, then known issuers of these
  bool knows_issuers = false;             // `certificates` has all issuers

  // Returns "10.0.0.1:4711" or "the admin socket".
  std::string ToString() const;
};

// Returns the facts about a peer. `peer`: "10.0.0.1:4711" or "[::1]:4711"; if it can't be parsed, the address stays
// empty. `client`: the result of the TLS handshake; null: there was none. `takes_names`: the name in the certificate is
// the peer's identity (false with --tls_identity=ca-only).
PeerFacts FactsOf(const std::string& peer, const CheckedClient* client, bool takes_names);

}  // namespace muster::scheduler
