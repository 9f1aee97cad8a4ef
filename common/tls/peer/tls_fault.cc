#include "common/tls/peer/tls_fault.h"

#include "common/base/check.h"

namespace muster {

std::string FaultName(TlsFault fault) {
  switch (fault) {
    case TlsFault::kNone:
      return "tls: none";
    case TlsFault::kPlaintext:
      return "tls: plain text";
    case TlsFault::kOldVersion:
      return "tls: old version";
    case TlsFault::kNoSharedCipher:
      return "tls: no shared cipher";
    case TlsFault::kHandshakeFailed:
      return "tls: handshake failed";
    case TlsFault::kNoCertificate:
      return "tls: no certificate";
    case TlsFault::kUnreadable:
      return "tls: unreadable certificate";
    case TlsFault::kExpired:
      return "tls: expired";
    case TlsFault::kNotYetValid:
      return "tls: not yet valid";
    case TlsFault::kUnknownAuthority:
      return "tls: unknown authority";
    case TlsFault::kSelfSigned:
      return "tls: self-signed";
    case TlsFault::kWrongUsage:
      return "tls: wrong usage";
    case TlsFault::kWeakKey:
      return "tls: weak key";
    case TlsFault::kWeakSignature:
      return "tls: weak signature";
    case TlsFault::kBadChain:
      return "tls: bad chain";
    case TlsFault::kRevoked:
      return "tls: revoked";
    case TlsFault::kNoRevocationList:
      return "tls: no revocation list";
    case TlsFault::kRevocationListExpired:
      return "tls: revocation list expired";
    case TlsFault::kNameMissing:
      return "tls: name missing";
    case TlsFault::kNameDoubled:
      return "tls: name doubled";
    case TlsFault::kNameTooLong:
      return "tls: name too long";
    case TlsFault::kNameWithNul:
      return "tls: name with NUL";
    case TlsFault::kNameMalformed:
      return "tls: name malformed";
    case TlsFault::kOtherTrustDomain:
      return "tls: other trust domain";
    case TlsFault::kOtherHost:
      return "tls: other host";
    case TlsFault::kNotAScheduler:
      return "tls: not a scheduler";
    case TlsFault::kOtherJob:
      return "identity: other job";
    case TlsFault::kOtherNode:
      return "identity: other node";
    case TlsFault::kOtherRole:
      return "identity: not a node";
    case TlsFault::kNotAnAdmin:
      return "identity: not an admin";
  }
  MUSTER_CHECK(false, "a fault without a name");
}

}  // namespace muster
