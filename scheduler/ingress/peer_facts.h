// Who is at the other end of a connection, as far as the transport knows.
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
  uint64_t connection = 0;  // its number; 0: none
  std::string address;      // numeric; empty for the Unix socket
  uint16_t port = 0;
  std::string reached_at;  // numeric: the own address that the connection came to; empty: not known
  bool is_unix = false;    // came over the admin socket: the scheduler's own user, or root
  // From the certificate; empty without TLS.
  std::string identity;                   // its URI name; empty too where names don't count (--tls_identity=ca-only)
  std::string fingerprint;                // SHA-256 of its DER form, lower-case hexadecimal
  std::optional<PeerName> name;           // the identity, read
  std::vector<Certificate> certificates;  // its own first, then what it showed, then its issuers if they are known
  bool knows_issuers = false;             // these are all of them

  // "10.0.0.1:4711", "the admin socket".
  std::string ToString() const;
};

// From "10.0.0.1:4711", "[::1]:4711", and what the handshake found, if there was one. What is not understood has no
// address. `takes_names`: the certificate's name is the identity (not with --tls_identity=ca-only).
PeerFacts FactsOf(const std::string& peer, const CheckedClient* client, bool takes_names);

}  // namespace muster::scheduler
