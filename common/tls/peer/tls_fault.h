// Why a peer is turned away. Each is counted under its name, so the names are part of the interface.
#pragma once

#include <string>

namespace muster {

enum class TlsFault {
  kNone,
  // The handshake.
  kPlaintext,        // it speaks plain text (or no gRPC at all)
  kOldVersion,       // TLS 1.1 or older
  kNoSharedCipher,   // nothing that both take
  kHandshakeFailed,  // anything else that OpenSSL gave up at
  // The certificate.
  kNoCertificate,
  kUnreadable,
  kExpired,
  kNotYetValid,
  kUnknownAuthority,  // not issued by one of ours, also by one of the same name
  kSelfSigned,
  kWrongUsage,  // a server's certificate used as a client's, or the reverse
  kWeakKey,
  kWeakSignature,
  kBadChain,  // anything else in the chain
  kRevoked,
  kNoRevocationList,  // revocation is switched on, but no list of this certificate's issuer is there
  kRevocationListExpired,
  // The name in the certificate.
  kNameMissing,
  kNameDoubled,
  kNameTooLong,
  kNameWithNul,
  kNameMalformed,
  kOtherTrustDomain,
  kOtherHost,  // a scheduler's certificate that is not for the host that was dialed
  kNotAScheduler,
  // What the peer says does not fit its certificate.
  kOtherJob,
  kOtherNode,
  kOtherRole,  // the certificate is none of a node
  kNotAnAdmin,
};

// "tls: expired": what it is counted under.
std::string FaultName(TlsFault fault);

// A fault with what was found and what to do about it; kNone: there is none.
struct TlsRefusal {
  TlsFault fault = TlsFault::kNone;
  std::string text;
  bool ok() const { return fault == TlsFault::kNone; }
};

}  // namespace muster
