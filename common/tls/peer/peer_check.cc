#include "common/tls/peer/peer_check.h"

#include <openssl/err.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/text.h"
#include "common/tls/material/certificate_memo.h"

namespace muster {
namespace {

constexpr int kAuthLevel = 2;  // OpenSSL's level: RSA and DH from 2,048 bits, curves from 224 bits, no SHA-1

TlsFault FaultOf(int error) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return TlsFault::kExpired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return TlsFault::kNotYetValid;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return TlsFault::kSelfSigned;
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return TlsFault::kUnknownAuthority;
    case X509_V_ERR_INVALID_PURPOSE:
      return TlsFault::kWrongUsage;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
      return TlsFault::kWeakKey;
    case X509_V_ERR_CA_MD_TOO_WEAK:
      return TlsFault::kWeakSignature;
    default:
      return TlsFault::kBadChain;
  }
}

std::string ChainText(TlsFault fault, int error, const Certificate& leaf, const Certificate& at) {
  const std::string who = absl::StrCat("the certificate ", at.Subject());
  const std::string reason = absl::StrCat(" (", X509_verify_cert_error_string(error), ")");
  switch (fault) {
    case TlsFault::kExpired:
      return absl::StrCat(who, " expired at ", ShowTime(at.NotAfter()));
    case TlsFault::kNotYetValid:
      return absl::StrCat(who, " is valid only from ", ShowTime(at.NotBefore()), ": check the clocks");
    case TlsFault::kUnknownAuthority:
      return absl::StrCat("the certificate ", leaf.Subject(), ", issued by ", leaf.Issuer(),
                          ", is not from an authority in ca_cert_path", reason);
    case TlsFault::kSelfSigned:
      return absl::StrCat(who, " is self-signed and not in ca_cert_path");
    case TlsFault::kWrongUsage:
      return absl::StrCat(who, " is not for this use (extended key usage)");
    case TlsFault::kWeakKey:
      return absl::StrCat(who, " has too short a key: at least RSA 2048 or P-256 is needed");
    case TlsFault::kWeakSignature:
      return absl::StrCat(who, " is signed with an old digest (SHA-1 or MD5)");
    default:
      return absl::StrCat(who, " can't be verified", reason);
  }
}

X509BorrowPtr StackOf(const std::vector<Certificate>& certificates) {
  X509BorrowPtr stack(sk_X509_new_null());
  for (const Certificate& certificate : certificates) sk_X509_push(stack.get(), certificate.get());
  return stack;
}

// Puts certificates that are not revoked first. OpenSSL takes the first one with a matching name. So a revoked
// certificate of an intermediate must not come before the renewed one.
std::vector<Certificate> GoodOnesFirst(const TrustBase& trust, std::vector<Certificate> others) {
  std::stable_partition(others.begin(), others.end(),
                        [&](const Certificate& other) { return CheckStillGood(trust, {other}).ok(); });
  return others;
}

bool IsRoot(const Certificate& authority) { return (X509_get_extension_flags(authority.get()) & EXFLAG_SS) != 0; }

// Checks that there is a revocation list of the certificate's issuer, and that the list has not ended.
TlsRefusal CheckHasList(const TrustBase& trust, const Certificate& certificate, bool serves_expired, absl::Time now) {
  bool is_listed = false, is_fresh = false;
  for (const RevocationList& list : trust.lists) {
    if (!list.IsAbout(certificate)) continue;
    is_listed = true;
    is_fresh = is_fresh || list.NextUpdate() > now;
  }
  if (!is_listed) {
    return {TlsFault::kNoRevocationList, absl::StrCat("crl_path holds no revocation list of ", certificate.Issuer(),
                                                      ", which issued ", certificate.Subject())};
  }
  if (!is_fresh && !serves_expired) {
    return {TlsFault::kRevocationListExpired, absl::StrCat("the revocation list of ", certificate.Issuer(),
                                                           " has expired: renew it, or set --crl_expired=serve")};
  }
  return {};
}

TlsRefusal CheckLists(const TrustBase& trust, const std::vector<Certificate>& chain, bool serves_expired,
                      absl::Time now) {
  if (!trust.has_lists) return {};
  if (TlsRefusal revoked = CheckStillGood(trust, chain); !revoked.ok()) return revoked;
  // The last certificate is the authority, which is trusted without a list.
  for (size_t i = 0; i == 0 || i + 1 < chain.size(); ++i) {
    if (TlsRefusal refusal = CheckHasList(trust, chain[i], serves_expired, now); !refusal.ok()) return refusal;
  }
  return {};
}

TlsRefusal CheckName(const PeerRules& rules, const Certificate& leaf, PeerName& out) {
  PeerNameResult result = NameOf(leaf);
  if (!result.refusal.ok()) return result.refusal;
  out = std::move(result.name);
  if (out.trust_domain != rules.trust_domain) {
    return {TlsFault::kOtherTrustDomain, absl::StrCat("the certificate's name ", out.ToUri(),
                                                      " is of another trust domain than ours, ", rules.trust_domain)};
  }
  if (rules.peer_is == PeerSide::kClient) return {};
  if (out.kind != PeerName::Kind::kScheduler || (!rules.job.empty() && !out.CoversJob(rules.job))) {
    return {TlsFault::kNotAScheduler, absl::StrCat("the certificate's name is ", out.ToUri(), "; expected spiffe://",
                                                   rules.trust_domain, "/muster/", rules.job.empty() ? "*" : rules.job,
                                                   "/scheduler: a program other than a scheduler for this "
                                                   "job answers at that address")};
  }
  if (!rules.host.empty() && !leaf.IsForHost(rules.host)) {
    return {TlsFault::kOtherHost,
            absl::StrCat("the scheduler's certificate ", leaf.Subject(), " is not for ", Quoted(rules.host),
                         ", the name that was dialed: it must be among its DNS names or IP addresses")};
  }
  return {};
}

// Changes `chain` only if the check succeeds.
TlsRefusal CheckChainIn(X509_STORE& store, PeerSide peer_is, const Certificate& leaf,
                        const std::vector<Certificate>& others, absl::Time now, std::vector<Certificate>* chain) {
  const X509StoreCtxPtr context(X509_STORE_CTX_new());
  const X509BorrowPtr untrusted = StackOf(others);
  if (context == nullptr || X509_STORE_CTX_init(context.get(), &store, leaf.get(), untrusted.get()) != 1) {
    return {TlsFault::kBadChain, "OpenSSL can't verify the certificate (out of memory)"};
  }
  X509_STORE_CTX_set_default(context.get(), peer_is == PeerSide::kClient ? "ssl_client" : "ssl_server");
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(parameters, absl::ToTimeT(now));
  X509_VERIFY_PARAM_set_auth_level(parameters, kAuthLevel);
  const bool is_good = X509_verify_cert(context.get()) == 1;
  const int error = X509_STORE_CTX_get_error(context.get());
  X509* at = X509_STORE_CTX_get_current_cert(context.get());
  ERR_clear_error();
  if (!is_good || error != X509_V_OK) {
    const TlsFault fault = FaultOf(error);
    return {fault, ChainText(fault, error, leaf, at == nullptr ? leaf : Share(at))};
  }
  if (chain != nullptr) {
    const STACK_OF(X509)* verified = X509_STORE_CTX_get0_chain(context.get());
    for (int i = 0; i < sk_X509_num(verified); ++i) chain->push_back(Share(sk_X509_value(verified, i)));
  }
  return {};
}

}  // namespace

std::shared_ptr<const TrustBase> BuildTrust(std::vector<Certificate> authorities, bool has_lists,
                                            std::vector<RevocationList> lists) {
  auto trust = std::make_shared<TrustBase>();
  trust->has_lists = has_lists;
  trust->lists = std::move(lists);
  trust->store.reset(X509_STORE_new());
  X509StorePtr good(X509_STORE_new());
  MUSTER_CHECK(trust->store != nullptr && good != nullptr, "memory for a certificate store");
  bool are_all_good = true;
  for (const Certificate& authority : authorities) {
    X509_STORE_add_cert(trust->store.get(), authority.get());
    const bool is_good = IsRoot(authority) || CheckStillGood(*trust, {authority}).ok();
    if (is_good) X509_STORE_add_cert(good.get(), authority.get());
    are_all_good = are_all_good && is_good;
  }
  ERR_clear_error();
  if (!are_all_good) trust->good_store = std::move(good);
  trust->authorities = std::move(authorities);
  return trust;
}

TlsRefusal CheckChain(const TrustBase& trust, PeerSide peer_is, const Certificate& leaf,
                      const std::vector<Certificate>& others, absl::Time now, std::vector<Certificate>* chain) {
  const std::vector<Certificate> candidates = GoodOnesFirst(trust, others);
  if (trust.good_store != nullptr && CheckChainIn(*trust.good_store, peer_is, leaf, candidates, now, chain).ok()) {
    return {};
  }
  return CheckChainIn(*trust.store, peer_is, leaf, candidates, now, chain);
}

TlsRefusal CheckStillGood(const TrustBase& trust, const std::vector<Certificate>& certificates) {
  for (const Certificate& certificate : certificates) {
    for (const RevocationList& list : trust.lists) {
      if (!list.IsAbout(certificate) || !list.HasRevoked(certificate)) continue;
      return {TlsFault::kRevoked, absl::StrCat("the certificate ", certificate.Subject(), " (serial ",
                                               certificate.Serial(), ") was revoked by ", list.Issuer())};
    }
  }
  return {};
}

CheckedPeer CheckPeer(const TrustBase& trust, const PeerRules& rules, const Certificate& leaf,
                      const std::vector<Certificate>& others, absl::Time now) {
  CheckedPeer peer;
  if (!leaf) {
    peer.refusal = {TlsFault::kUnreadable, "the certificate can't be read"};
    return peer;
  }
  std::vector<Certificate> chain;
  peer.refusal = CheckChain(trust, rules.peer_is, leaf, others, now, &chain);
  return peer.refusal.ok() ? CheckVerifiedPeer(trust, rules, std::move(chain), now) : peer;
}

CheckedPeer CheckVerifiedPeer(const TrustBase& trust, const PeerRules& rules, std::vector<Certificate> chain,
                              absl::Time now) {
  CheckedPeer peer;
  peer.chain = std::move(chain);
  peer.refusal = CheckLists(trust, peer.chain, rules.serves_expired_lists, now);
  if (peer.refusal.ok() && rules.needs_name) peer.refusal = CheckName(rules, peer.chain.front(), peer.name);
  return peer;
}

PeerCertificates ReadPeer(const std::string& leaf_pem, const std::string& chain_pem) {
  PeerCertificates peer;
  CertificateMemo& memo = CertificateMemo::Shared();
  if (const std::vector<Certificate> leaf = memo.Parse(leaf_pem); !leaf.empty()) peer.leaf = leaf.front();
  if (!chain_pem.empty()) peer.others = memo.Parse(chain_pem);
  if (peer.others.size() > kMaxShown) peer.others.erase(peer.others.begin() + kMaxShown, peer.others.end());
  return peer;
}

}  // namespace muster
