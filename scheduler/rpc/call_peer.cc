#include "scheduler/rpc/call_peer.h"

#include <grpc/grpc_security_constants.h>

#include <string>
#include <utility>

#include "common/tls/peer/peer_check.h"

namespace muster::scheduler {
namespace {

std::string Property(const grpc::AuthContext& auth, const char* name) {
  const std::vector<grpc::string_ref> values = auth.FindPropertyValues(name);
  return values.empty() ? "" : std::string(values[0].data(), values[0].size());
}

}  // namespace

PeerFacts PeerOf(const grpc::ServerContextBase& context, bool takes_names) {
  PeerFacts facts = ParsePeer(context.peer());
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (facts.is_unix || auth == nullptr) return facts;
  const std::string leaf = Property(*auth, GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (leaf.empty()) return facts;
  PeerCertificates peer = ReadPeer(leaf, Property(*auth, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME));
  if (!peer.leaf) return facts;
  facts.fingerprint = peer.leaf.Fingerprint();
  if (takes_names) {
    PeerNameResult name = NameOf(peer.leaf);
    if (name.refusal.ok()) {
      facts.identity = name.name.ToUri();
      facts.name = std::move(name.name);
    }
  }
  facts.certificates.push_back(std::move(peer.leaf));
  for (Certificate& other : peer.others) facts.certificates.push_back(std::move(other));
  return facts;
}

}  // namespace muster::scheduler
