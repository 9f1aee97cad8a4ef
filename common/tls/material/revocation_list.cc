#include "common/tls/material/revocation_list.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/tls/material/certificate_memo.h"
#include "common/tls/material/key_material.h"
#include "common/tls/material/openssl.h"

namespace muster {
namespace {

constexpr absl::Duration kClockSkew = absl::Minutes(5);  // how far a list maker's clock may be ahead of ours

absl::StatusOr<std::vector<X509CrlPtr>> Read(const std::string& bytes) {
  ERR_clear_error();
  std::vector<X509CrlPtr> lists;
  if (!LooksLikePem(bytes)) {
    const unsigned char* at = reinterpret_cast<const unsigned char*>(bytes.data());
    X509CrlPtr list(d2i_X509_CRL(nullptr, &at, static_cast<long>(bytes.size())));  // NOLINT(google-runtime-int)
    ERR_clear_error();
    const size_t used = static_cast<size_t>(at - reinterpret_cast<const unsigned char*>(bytes.data()));
    if (list == nullptr || used != bytes.size()) {
      return absl::InvalidArgumentError("it is not a revocation list, or it is cut off");
    }
    lists.push_back(std::move(list));
    return lists;
  }
  const BioPtr bio = MemoryBio(bytes);
  while (X509_CRL* crl = PEM_read_bio_X509_CRL(bio.get(), nullptr, RefusePassphrase, nullptr)) {
    lists.emplace_back(crl);
    if (lists.size() > kMaxRevocationLists) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxRevocationLists, " lists"));
    }
  }
  const auto errors = TakeOpenSslErrors();
  if (!HasReason(errors, ERR_LIB_PEM, PEM_R_NO_START_LINE)) {
    return absl::InvalidArgumentError(
        absl::StrCat("list ", lists.size() + 1, " is damaged or cut off (", OpenSslReason(errors), ")"));
  }
  if (lists.empty()) return absl::InvalidArgumentError("it holds no revocation list (-----BEGIN X509 CRL-----)");
  return lists;
}

// An extension that narrows a list's meaning is always critical (RFC 5280, 5.2). We support none of them.
bool HasCriticalExtension(const X509_CRL* crl) {
  for (int i = 0; i < X509_CRL_get_ext_count(crl); ++i) {
    if (X509_EXTENSION_get_critical(X509_CRL_get_ext(crl, i)) != 0) return true;
  }
  return false;
}

struct FreeAsn1Integer {
  void operator()(ASN1_INTEGER* number) const { ASN1_INTEGER_free(number); }
};

// Returns the list's serial number; null if it has none.
std::unique_ptr<ASN1_INTEGER, FreeAsn1Integer> NumberOf(const X509_CRL* crl) {
  return std::unique_ptr<ASN1_INTEGER, FreeAsn1Integer>(
      static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(crl, NID_crl_number, nullptr, nullptr)));
}

}  // namespace

std::string RevocationList::ShowAge() const {
  const std::string made = absl::StrCat("of ", ShowTime(ThisUpdate()));
  const auto number = NumberOf(crl_.get());
  if (number == nullptr) return made;
  char* const text = i2s_ASN1_INTEGER(nullptr, number.get());
  if (text == nullptr) return made;
  const std::string shown = absl::StrCat("number ", text, ", ", made);
  OPENSSL_free(text);
  return shown;
}

absl::Time RevocationList::ThisUpdate() const { return ToAbslTime(X509_CRL_get0_lastUpdate(crl_.get())); }

absl::Time RevocationList::NextUpdate() const {
  const ASN1_TIME* next = X509_CRL_get0_nextUpdate(crl_.get());
  return next == nullptr ? absl::InfiniteFuture() : ToAbslTime(next);
}

std::string RevocationList::ToPem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509_CRL(bio.get(), crl_.get()) != 1) return "";
  return BioText(bio.get());
}

std::string RevocationList::Issuer() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_CRL_get_issuer(crl_.get()), 0, XN_FLAG_RFC2253);
  std::string text = BioText(bio.get());
  CutText(text, 200);
  return text;
}

size_t RevocationList::size() const {
  const STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(crl_.get());
  return revoked == nullptr ? 0 : static_cast<size_t>(sk_X509_REVOKED_num(revoked));
}

bool RevocationList::IsSignedBy(const Certificate& authority) const {
  if (X509_NAME_cmp(X509_CRL_get_issuer(crl_.get()), X509_get_subject_name(authority.get())) != 0) return false;
  EVP_PKEY* key = X509_get0_pubkey(authority.get());
  const bool is_signed = key != nullptr && X509_CRL_verify(crl_.get(), key) == 1;
  ERR_clear_error();
  return is_signed;
}

bool RevocationList::FindSigner(const std::vector<Certificate>& authorities) {
  const auto signer = std::find_if(authorities.begin(), authorities.end(),
                                   [this](const Certificate& authority) { return IsSignedBy(authority); });
  if (signer == authorities.end()) return false;
  signer_ = *signer;
  return true;
}

bool RevocationList::IsAbout(const Certificate& certificate) const {
  return X509_NAME_cmp(X509_CRL_get_issuer(crl_.get()), X509_get_issuer_name(certificate.get())) == 0 &&
         CertificateMemo::Shared().HasSigned(signer_, certificate);
}

bool RevocationList::HasRevoked(const Certificate& certificate) const {
  X509_REVOKED* entry = nullptr;
  // The result 2 means "will be removed from the list", which only a delta list can say.
  return X509_CRL_get0_by_cert(crl_.get(), &entry, certificate.get()) != 0;
}

bool RevocationList::IsOfSameAuthority(const RevocationList& other) const { return other.IsByOneOf({signer_}); }

bool RevocationList::IsByOneOf(const std::vector<Certificate>& authorities) const {
  return std::any_of(authorities.begin(), authorities.end(), [this](const Certificate& authority) {
    return X509_NAME_cmp(X509_CRL_get_issuer(crl_.get()), X509_get_subject_name(authority.get())) == 0 &&
           EVP_PKEY_eq(X509_get0_pubkey(signer_.get()), X509_get0_pubkey(authority.get())) == 1;
  });
}

bool RevocationList::IsOlderThan(const RevocationList& other) const {
  if (!IsOfSameAuthority(other)) return false;
  const auto number = NumberOf(crl_.get()), others = NumberOf(other.crl_.get());
  if (number != nullptr && others != nullptr) return ASN1_INTEGER_cmp(number.get(), others.get()) < 0;
  return ThisUpdate() < other.ThisUpdate();
}

absl::StatusOr<std::vector<RevocationList>> ParseRevocationLists(const std::string& bytes,
                                                                 const std::vector<Certificate>& authorities,
                                                                 absl::Time now) {
  absl::StatusOr<std::vector<X509CrlPtr>> read = Read(bytes);
  if (!read.ok()) return read.status();
  std::vector<RevocationList> lists;
  for (X509CrlPtr& crl : *read) {
    if (HasCriticalExtension(crl.get())) {
      return absl::InvalidArgumentError("it is a delta, indirect or partial list; only complete ones are accepted");
    }
    RevocationList list(std::move(crl));
    if (!list.FindSigner(authorities)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the list of ", list.Issuer(), " is not signed by any authority of ca_cert_path; add that ",
                       "authority's certificate there (an intermediate one, too), or, if it is no longer ",
                       "trusted, remove its list from crl_path"));
    }
    if (list.ThisUpdate() > now + kClockSkew) {
      return absl::InvalidArgumentError(absl::StrCat("the list of ", list.Issuer(), " begins only at ",
                                                     ShowTime(list.ThisUpdate()), ": check the clocks"));
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

}  // namespace muster
