// The reasons to refuse a peer. Each is counted under its name, so scripts may depend on the names.
#pragma once

#include <string>

namespace muster {

enum class TlsFault {
  kNone,
  // The handshake.
  kPlaintext,        // the peer speaks plain text, or something other than gRPC
  kOldVersion,       // TLS 1.1 or older
  kNoSharedCipher,   // the two sides have no cipher in common
  kHandshakeFailed,  // any other failure in OpenSSL
  // The certificate.
  kNoCertificate,
  kUnreadable,
  kExpired,
  kNotYetValid,
  kUnknownAuthority,  // not issued by a trusted authority; another authority with the same name does not count
  kSelfSigned,
  kWrongUsage,  // a server's certificate used as a client's, or the reverse
  kWeakKey,
  kWeakSignature,
  kBadChain,  // any other fault of the chain
  kRevoked,
  kNoRevocationList,  // crl_path is set, but has no list of this certificate's issuer
  kRevocationListExpired,
  // The name in the certificate.
  kNameMissing,
  kNameDoubled,
  kNameTooLong,
  kNameWithNul,
  kNameMalformed,
  kOtherTrustDomain,
  kOtherHost,  // a scheduler's certificate that is not for the host that was connected to
  kNotAScheduler,
  // The peer claims something that its certificate does not allow.
  kOtherJob,
  kOtherNode,
  kOtherRole,  // the certificate is not for a node
  kNotAnAdmin,
};

// Returns the name of the fault's counter, such as "tls: expired".
std::string FaultName(TlsFault fault);

// A fault, with a text on details and remedy. kNone: the peer is accepted.
struct TlsRefusal {
  TlsFault fault = TlsFault::kNone;
  std::string text;
  bool ok() const { return fault == TlsFault::kNone; }
};

}  // namespace muster
