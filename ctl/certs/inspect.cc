#include "ctl/certs/inspect.h"

#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/net/ip_address.h"
#include "common/sys/file_io.h"
#include "common/tls/material/key_material.h"
#include "ctl/certs/openssl_handles.h"

namespace muster::certs {
namespace {

constexpr size_t kMaxFileBytes = 64 << 20;
constexpr int kMaxPemBlocks = 10'000;

std::string NameText(const X509_NAME* name) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0) return "";
  return BioText(bio.get());
}

std::string BytesOf(const ASN1_STRING* string) {
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
                     static_cast<size_t>(ASN1_STRING_length(string)));
}

void ReadNames(X509* certificate, CertificateFacts& facts) {
  const GeneralNamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> addresses;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type);
    if (type == GEN_URI) facts.uris.push_back(BytesOf(static_cast<const ASN1_STRING*>(value)));
    if (type == GEN_DNS) facts.hosts.push_back(BytesOf(static_cast<const ASN1_STRING*>(value)));
    if (type != GEN_IPADD) continue;
    const auto address = IpAddress::FromBytes(BytesOf(static_cast<const ASN1_STRING*>(value)));
    addresses.push_back(address ? address->ToString() : "(malformed address)");
  }
  facts.hosts.insert(facts.hosts.end(), addresses.begin(), addresses.end());
}

void ReadUsages(X509* certificate, CertificateFacts& facts) {
  const std::unique_ptr<EXTENDED_KEY_USAGE, OpenSslDelete<EXTENDED_KEY_USAGE_free>> usages(
      static_cast<EXTENDED_KEY_USAGE*>(X509_get_ext_d2i(certificate, NID_ext_key_usage, nullptr, nullptr)));
  for (int i = 0; usages && i < sk_ASN1_OBJECT_num(usages.get()); ++i) {
    const char* word = OBJ_nid2sn(OBJ_obj2nid(sk_ASN1_OBJECT_value(usages.get(), i)));
    facts.usages.push_back(word != nullptr ? word : "unknown");
  }
}

std::string KeyText(EVP_PKEY* key) {
  if (key == nullptr) return "(unreadable)";
  char group[80] = "";
  size_t size = 0;
  const bool has_group = EVP_PKEY_get_group_name(key, group, sizeof(group), &size) == 1;
  ERR_clear_error();
  const char* type = EVP_PKEY_get0_type_name(key);
  return absl::StrCat(type != nullptr ? type : "unknown", has_group ? absl::StrCat(" ", group) : "", ", ",
                      EVP_PKEY_get_bits(key), " bits");
}

CertificateFacts FactsOf(X509* certificate) {
  CertificateFacts facts;
  facts.subject = NameText(X509_get_subject_name(certificate));
  facts.issuer = NameText(X509_get_issuer_name(certificate));
  facts.serial = SerialText(X509_get0_serialNumber(certificate));
  facts.not_before = ToAbslTime(X509_get0_notBefore(certificate));
  facts.not_after = ToAbslTime(X509_get0_notAfter(certificate));
  ReadNames(certificate, facts);
  ReadUsages(certificate, facts);
  facts.key = KeyText(X509_get0_pubkey(certificate));
  const char* signature = OBJ_nid2ln(X509_get_signature_nid(certificate));
  facts.signature = signature != nullptr ? signature : "unknown";
  facts.is_authority = X509_check_ca(certificate) > 0;
  facts.fingerprint = FingerprintOf(certificate);
  ERR_clear_error();
  return facts;
}

ListFacts FactsOf(X509_CRL* list) {
  ListFacts facts;
  facts.issuer = NameText(X509_CRL_get_issuer(list));
  const Integer number(static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(list, NID_crl_number, nullptr, nullptr)));
  facts.number = number ? absl::StrCat("0x", SerialText(number.get())) : "";
  uint64_t small = 0;
  if (number && ASN1_INTEGER_get_uint64(&small, number.get()) == 1) facts.number = absl::StrCat(small);
  facts.this_update = ToAbslTime(X509_CRL_get0_lastUpdate(list));
  facts.next_update = ToAbslTime(X509_CRL_get0_nextUpdate(list));
  STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(list);
  for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
    facts.serials.push_back(SerialText(X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(revoked, i))));
  }
  return facts;
}

struct Contents {
  std::vector<X509Ptr> certificates;
  std::vector<X509CrlPtr> lists;
  std::vector<EvpKeyPtr> keys;
  int encrypted_keys = 0;
};

FileFacts FactsOf(const std::string& path, const std::string& form, const Contents& contents) {
  FileFacts facts;
  facts.path = path;
  facts.form = form;
  facts.keys = static_cast<int>(contents.keys.size()) + contents.encrypted_keys;
  for (const X509Ptr& certificate : contents.certificates) {
    facts.certificates.push_back(FactsOf(certificate.get()));
    for (const EvpKeyPtr& key : contents.keys) {
      const bool fits = X509_check_private_key(certificate.get(), key.get()) == 1;
      facts.certificates.back().has_key = facts.certificates.back().has_key || fits;
    }
  }
  for (const X509CrlPtr& list : contents.lists) facts.lists.push_back(FactsOf(list.get()));
  ERR_clear_error();
  return facts;
}

// Adds one block of a PEM file to `contents`. False: the block is damaged.
bool TakeBlock(const std::string& name, const unsigned char* data, long size, Contents& contents) {
  if (name == "CERTIFICATE" || name == "TRUSTED CERTIFICATE") {
    X509Ptr certificate(d2i_X509(nullptr, &data, size));
    if (!certificate) return false;
    contents.certificates.push_back(std::move(certificate));
  } else if (name == "X509 CRL") {
    X509CrlPtr list(d2i_X509_CRL(nullptr, &data, size));
    if (!list) return false;
    contents.lists.push_back(std::move(list));
  } else if (name == "ENCRYPTED PRIVATE KEY") {
    ++contents.encrypted_keys;
  } else if (absl::EndsWith(name, "PRIVATE KEY")) {
    EvpKeyPtr key(d2i_AutoPrivateKey(nullptr, &data, size));
    if (!key) return false;
    contents.keys.push_back(std::move(key));
  }
  return true;
}

absl::StatusOr<Contents> ReadPem(const std::string& path, const std::string& bytes) {
  Contents contents;
  const BioPtr bio = MemoryBio(bytes);
  for (int i = 0; i < kMaxPemBlocks; ++i) {
    char* name = nullptr;
    char* header = nullptr;
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(bio.get(), &name, &header, &data, &size) != 1) {
      const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      const std::string reason = OpenSslReason();
      if (is_end) break;
      return absl::InvalidArgumentError(absl::StrCat(path, ": the PEM file is damaged: ", reason));
    }
    const std::string block = name;
    const bool is_good = TakeBlock(block, data, size, contents);
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(data, static_cast<size_t>(size));
    if (!is_good) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": its ", block, " is damaged: ", OpenSslReason()));
    }
  }
  return contents;
}

// Reads a PKCS#12 file. nullopt: `bytes` are not one.
absl::StatusOr<std::optional<Contents>> ReadBundle(const std::string& path, const std::string& bytes,
                                                   const Passwords& passwords) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const Pkcs12Ptr bundle(d2i_PKCS12(nullptr, &data, static_cast<long>(bytes.size())));
  if (!bundle) return ERR_clear_error(), std::nullopt;
  if (!passwords.server && !passwords.client) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " is protected by a password: name a file with it (--password_file), or set MS_TLS_CLIENT_PASSWORD_FILE"));
  }
  absl::Status status;
  for (const auto& password : {passwords.client, passwords.server}) {
    if (!password) continue;
    const absl::StatusOr<KeyMaterial> opened = ParsePkcs12(bytes, Secret(*password));
    status = opened.status();
    if (!opened.ok()) continue;
    absl::StatusOr<Contents> contents = ReadPem(path, opened->ChainPem());
    if (!contents.ok()) return contents.status();
    const BioPtr bio = MemoryBio(opened->key_pem.text());
    contents->keys.emplace_back(PEM_read_bio_PrivateKey(bio.get(), nullptr, RefusePassphrase, nullptr));
    return std::optional<Contents>(*std::move(contents));
  }
  const char* remedy = absl::IsPermissionDenied(status) ? ": see --password_file and MS_TLS_*_PASSWORD_FILE" : "";
  return absl::Status(status.code(), absl::StrCat(path, ": ", std::string(status.message()), remedy));
}

}  // namespace

absl::StatusOr<FileFacts> InspectBytes(const std::string& path, const std::string& bytes, const Passwords& passwords) {
  if (absl::StrContains(bytes, "-----BEGIN ")) {
    const absl::StatusOr<Contents> contents = ReadPem(path, bytes);
    if (!contents.ok()) return contents.status();
    if (!contents->certificates.empty() || !contents->lists.empty() || !contents->keys.empty()) {
      return FactsOf(path, "PEM", *contents);
    }
  }
  const absl::StatusOr<std::optional<Contents>> bundle = ReadBundle(path, bytes, passwords);
  if (!bundle.ok()) return bundle.status();
  if (bundle->has_value()) return FactsOf(path, "PKCS#12", **bundle);
  for (const char* kind : {"CERTIFICATE", "X509 CRL"}) {
    Contents contents;
    if (TakeBlock(kind, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<long>(bytes.size()),
                  contents)) {
      return FactsOf(path, "DER", contents);
    }
    ERR_clear_error();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, " holds neither a certificate nor a revocation list, in PEM, DER or PKCS#12"));
}

absl::StatusOr<FileFacts> InspectFile(const std::string& path, const Passwords& passwords) {
  std::string file = path;
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    for (const char* name : {"/cert.pem", "/client.p12", "/server.p12", "/ca.pem"}) {
      file = path + name;
      if (stat(file.c_str(), &info) == 0) break;
    }
  }
  const absl::StatusOr<std::string> bytes = ReadSmallFile(file, kMaxFileBytes);
  if (!bytes.ok()) return bytes.status();
  return InspectBytes(file, *bytes, passwords);
}

}  // namespace muster::certs
