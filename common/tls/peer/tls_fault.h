// The reasons to refuse a peer. Each is counted under its name, so the names are part of the interface.
#pragma once

#include <string>

namespace muster {

enum class TlsFault {
  kNone,
  // The handshake.
  kPlaintext,        // it speaks plain text (or no gRPC at all)
  kOldVersion,       // TLS 1.1 or older
  kNoSharedCipher,   // no cipher that both sides take
  kHandshakeFailed,  // anything else that made OpenSSL fail
  // The certificate.
  kNoCertificate,
  kUnreadable,
  kExpired,
  kNotYetValid,
  kUnknownAuthority,  // not issued by one of ours, also if by one of the same name
  kSelfSigned,
  kWrongUsage,  // a server's certificate used as a client's, or the reverse
  kWeakKey,
  kWeakSignature,
  kBadChain,  // anything else in the chain
  kRevoked,
  kNoRevocationList,  // revocation is switched on, but there is no list of this certificate's issuer
  kRevocationListExpired,
  // The name in the certificate.
  kNameMissing,
  kNameDoubled,
  kNameTooLong,
  kNameWithNul,
  kNameMalformed,
  kOtherTrustDomain,
  kOtherHost,  // a scheduler's certificate that is not for the dialed host
  kNotAScheduler,
  // The peer's statements do not fit its certificate.
  kOtherJob,
  kOtherNode,
  kOtherRole,  // the certificate is not for a node
  kNotAnAdmin,
};

// "tls: expired": the name of its counter.
std::string FaultName(TlsFault fault);

// A fault with its details and remedy; kNone: there is none.
struct TlsRefusal {
  TlsFault fault = TlsFault::kNone;
  std::string text;
  bool ok() const { return fault == TlsFault::kNone; }
};

}  // namespace muster
