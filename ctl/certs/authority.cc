#include "ctl/certs/authority.h"

#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/net/ip_address.h"

namespace muster::certs {
namespace {

constexpr absl::Duration kBackdated = absl::Hours(1);
constexpr int kSerialBytes = 16;
constexpr long kVersion3 = 2;
constexpr long kListVersion2 = 1;

absl::Status Failed(const std::string& what) {
  return absl::InternalError(absl::StrCat("OpenSSL can't ", what, ": ", OpenSslReason()));
}

TimeValue ToTimeValue(absl::Time time) {
  TimeValue value(ASN1_TIME_set(nullptr, absl::ToTimeT(time)));
  MUSTER_CHECK(value != nullptr, "a time that X.509 can represent");
  return value;
}

EvpKeyPtr MakeKey() { return EvpKeyPtr(EVP_EC_gen("P-256")); }

// Sets a random serial number of 127 bits, never 0, so that no two certificates of an authority have the same one.
bool SetSerial(X509* certificate) {
  unsigned char bytes[kSerialBytes];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7F) | 0x40);
  const Number number(BN_bin2bn(bytes, sizeof(bytes), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool AddText(X509_NAME* name, const char* field, const std::string& text) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

// OpenSSL reads `value` in its configuration language, so pass only our own constants, and nothing from a user.
bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, OpenSslDelete<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool AddName(GENERAL_NAMES* names, int type, const std::string& bytes) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (name == nullptr) return false;
  ASN1_STRING* value = ASN1_STRING_type_new(type == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
  if (value == nullptr || ASN1_STRING_set(value, bytes.data(), static_cast<int>(bytes.size())) != 1) {
    ASN1_STRING_free(value);
    GENERAL_NAME_free(name);
    return false;
  }
  GENERAL_NAME_set0_value(name, type, value);
  if (sk_GENERAL_NAME_push(names, name) > 0) return true;
  GENERAL_NAME_free(name);
  return false;
}

bool AddNames(X509* certificate, const std::string& uri, const std::vector<std::string>& hosts) {
  const GeneralNamesPtr names(GENERAL_NAMES_new());
  if (!names || !AddName(names.get(), GEN_URI, uri)) return false;
  for (const std::string& host : hosts) {
    const auto address = IpAddress::Parse(host);
    const bool is_added =
        address ? AddName(names.get(), GEN_IPADD, address->bytes()) : AddName(names.get(), GEN_DNS, host);
    if (!is_added) return false;
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

bool SetDates(X509* certificate, absl::Time from, absl::Time to) {
  return X509_set1_notBefore(certificate, ToTimeValue(from).get()) == 1 &&
         X509_set1_notAfter(certificate, ToTimeValue(to).get()) == 1;
}

const char* UsagesOf(Kind kind) {
  switch (kind) {
    case Kind::kScheduler:
      return "serverAuth";
    case Kind::kAdmin:
      return "clientAuth";
    case Kind::kNode:
    case Kind::kHost:
      return "clientAuth,serverAuth";
  }
  return "";
}

int ReasonCode(const std::string& reason) {
  if (reason == "key-compromise") return CRL_REASON_KEY_COMPROMISE;
  if (reason == "superseded") return CRL_REASON_SUPERSEDED;
  if (reason == "cessation") return CRL_REASON_CESSATION_OF_OPERATION;
  return CRL_REASON_NONE;
}

std::string ReasonOf(const X509_REVOKED* entry) {
  const Enumerated value(
      static_cast<ASN1_ENUMERATED*>(X509_REVOKED_get_ext_d2i(entry, NID_crl_reason, nullptr, nullptr)));
  if (!value) return "";
  for (const std::string& word : RevocationReasons()) {
    if (ReasonCode(word) == ASN1_ENUMERATED_get(value.get())) return word;
  }
  return "";
}

bool AddRevoked(X509_CRL* list, const RevokedSerial& entry) {
  BIGNUM* parsed = nullptr;
  if (BN_hex2bn(&parsed, entry.serial.c_str()) == 0) return false;
  const Number number(parsed);
  const Integer serial(BN_to_ASN1_INTEGER(number.get(), nullptr));
  std::unique_ptr<X509_REVOKED, OpenSslDelete<X509_REVOKED_free>> revoked(X509_REVOKED_new());
  if (!serial || !revoked || X509_REVOKED_set_serialNumber(revoked.get(), serial.get()) != 1 ||
      X509_REVOKED_set_revocationDate(revoked.get(), ToTimeValue(entry.at).get()) != 1) {
    return false;
  }
  if (const int code = ReasonCode(entry.reason); code != CRL_REASON_NONE) {
    const Enumerated value(ASN1_ENUMERATED_new());
    if (!value || ASN1_ENUMERATED_set(value.get(), code) != 1 ||
        X509_REVOKED_add1_ext_i2d(revoked.get(), NID_crl_reason, value.get(), 0, 0) != 1) {
      return false;
    }
  }
  if (X509_CRL_add0_revoked(list, revoked.get()) != 1) return false;
  (void)revoked.release();
  return true;
}

bool AddListExtensions(X509_CRL* list, X509* issuer, uint64_t number) {
  const Integer value(ASN1_INTEGER_new());
  if (!value || ASN1_INTEGER_set_uint64(value.get(), number) != 1 ||
      X509_CRL_add1_ext_i2d(list, NID_crl_number, value.get(), 0, 0) != 1) {
    return false;
  }
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, nullptr, nullptr, list, 0);
  const std::unique_ptr<X509_EXTENSION, OpenSslDelete<X509_EXTENSION_free>> key_id(
      X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid:always"));
  return key_id && X509_CRL_add_ext(list, key_id.get(), -1) == 1;
}

}  // namespace

const std::vector<std::string>& RevocationReasons() {
  static const auto* const words = new std::vector<std::string>{"key-compromise", "superseded", "cessation"};
  return *words;
}

absl::StatusOr<Authority> Authority::Create(const std::string& trust_domain, absl::Time now, absl::Duration lifetime) {
  EvpKeyPtr key = MakeKey();
  X509Ptr certificate(X509_new());
  if (!key || !certificate) return Failed("make a key");
  X509* x = certificate.get();
  X509_NAME* name = X509_get_subject_name(x);
  const bool is_made = X509_set_version(x, kVersion3) == 1 && SetSerial(x) &&
                       SetDates(x, now - kBackdated, now + lifetime) && AddText(name, "O", "Muster") &&
                       AddText(name, "CN", "Muster CA of " + trust_domain.substr(0, 48)) &&
                       X509_set_issuer_name(x, name) == 1 && X509_set_pubkey(x, key.get()) == 1 &&
                       AddExtension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                       AddExtension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                       AddExtension(x, x, NID_subject_key_identifier, "hash") &&
                       AddNames(x, "spiffe://" + trust_domain, {}) && X509_sign(x, key.get(), EVP_sha256()) > 0;
  if (!is_made) return Failed("make the CA's certificate");
  return Authority(std::move(key), std::move(certificate));
}

absl::StatusOr<Authority> Authority::FromPem(const std::string& certificate_pem, const std::string& key_pem) {
  const BioPtr certificate_bio = MemoryBio(certificate_pem);
  X509Ptr certificate(PEM_read_bio_X509(certificate_bio.get(), nullptr, RefusePassphrase, nullptr));
  if (!certificate)
    return absl::InvalidArgumentError(absl::StrCat("the CA's certificate can't be read: ", OpenSslReason()));
  const BioPtr key_bio = MemoryBio(key_pem);
  EvpKeyPtr key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, RefusePassphrase, nullptr));
  if (!key) return absl::InvalidArgumentError(absl::StrCat("the CA's key can't be read: ", OpenSslReason()));
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    OpenSslReason();
    return absl::InvalidArgumentError("the CA's key and certificate don't belong together");
  }
  return Authority(std::move(key), std::move(certificate));
}

absl::Time Authority::not_after() const { return ToAbslTime(X509_get0_notAfter(certificate_.get())); }

absl::StatusOr<Issued> Authority::Issue(const Subject& subject, absl::Time now, absl::Duration lifetime) const {
  EvpKeyPtr key = MakeKey();
  X509Ptr certificate(X509_new());
  if (!key || !certificate) return Failed("make a key");
  X509* x = certificate.get();
  X509* ca = certificate_.get();
  X509_NAME* name = X509_get_subject_name(x);
  const bool is_made = X509_set_version(x, kVersion3) == 1 && SetSerial(x) &&
                       SetDates(x, now - kBackdated, std::min(now + lifetime, not_after())) &&
                       AddText(name, "O", "Muster") && AddText(name, "CN", subject.name.substr(0, 64)) &&
                       X509_set_issuer_name(x, X509_get_subject_name(ca)) == 1 && X509_set_pubkey(x, key.get()) == 1 &&
                       AddExtension(x, ca, NID_basic_constraints, "critical,CA:FALSE") &&
                       AddExtension(x, ca, NID_key_usage, "critical,digitalSignature") &&
                       AddExtension(x, ca, NID_ext_key_usage, UsagesOf(subject.kind)) &&
                       AddExtension(x, ca, NID_subject_key_identifier, "hash") &&
                       AddExtension(x, ca, NID_authority_key_identifier, "keyid:always") &&
                       AddNames(x, subject.uri, subject.hosts) && X509_sign(x, key_.get(), EVP_sha256()) > 0;
  if (!is_made) return Failed("make the certificate");
  return Issued{std::move(key), std::move(certificate)};
}

absl::StatusOr<std::string> Authority::SignList(const std::vector<RevokedSerial>& revoked, uint64_t number,
                                                absl::Time now, absl::Time next_update) const {
  const X509CrlPtr list(X509_CRL_new());
  if (!list) return Failed("make a revocation list");
  X509_CRL* crl = list.get();
  bool is_made = X509_CRL_set_version(crl, kListVersion2) == 1 &&
                 X509_CRL_set_issuer_name(crl, X509_get_subject_name(certificate_.get())) == 1 &&
                 X509_CRL_set1_lastUpdate(crl, ToTimeValue(now - kBackdated).get()) == 1 &&
                 X509_CRL_set1_nextUpdate(crl, ToTimeValue(next_update).get()) == 1 &&
                 AddListExtensions(crl, certificate_.get(), number);
  for (const RevokedSerial& entry : revoked) is_made = is_made && AddRevoked(crl, entry);
  is_made = is_made && X509_CRL_sort(crl) == 1 && X509_CRL_sign(crl, key_.get(), EVP_sha256()) > 0;
  if (!is_made) return Failed("sign the revocation list");
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509_CRL(bio.get(), crl) != 1) return Failed("write the revocation list");
  return BioText(bio.get());
}

absl::StatusOr<SignedList> ReadList(const std::string& list_pem, const std::string& authority_pem) {
  const BioPtr list_bio = MemoryBio(list_pem);
  const X509CrlPtr list(PEM_read_bio_X509_CRL(list_bio.get(), nullptr, RefusePassphrase, nullptr));
  if (!list) return absl::InvalidArgumentError(absl::StrCat("is no revocation list: ", OpenSslReason()));
  const BioPtr authority_bio = MemoryBio(authority_pem);
  const X509Ptr authority(PEM_read_bio_X509(authority_bio.get(), nullptr, RefusePassphrase, nullptr));
  if (!authority)
    return absl::InvalidArgumentError(absl::StrCat("the CA's certificate can't be read: ", OpenSslReason()));
  EVP_PKEY* key = X509_get0_pubkey(authority.get());
  if (key == nullptr || X509_CRL_verify(list.get(), key) != 1) {
    OpenSslReason();
    return absl::InvalidArgumentError("is not signed by this authority");
  }
  SignedList read;
  const Integer number(static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(list.get(), NID_crl_number, nullptr, nullptr)));
  if (!number || ASN1_INTEGER_get_uint64(&read.number, number.get()) != 1) {
    OpenSslReason();
    return absl::InvalidArgumentError("has no number");
  }
  const ASN1_TIME* next = X509_CRL_get0_nextUpdate(list.get());
  read.next_update = next == nullptr ? absl::InfinitePast() : ToAbslTime(next);
  STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(list.get());
  for (int i = 0; revoked != nullptr && i < sk_X509_REVOKED_num(revoked); ++i) {
    const X509_REVOKED* entry = sk_X509_REVOKED_value(revoked, i);
    read.revoked.push_back({SerialText(X509_REVOKED_get0_serialNumber(entry)),
                            ToAbslTime(X509_REVOKED_get0_revocationDate(entry)), ReasonOf(entry)});
  }
  return read;
}

}  // namespace muster::certs
