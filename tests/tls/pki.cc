#include "tests/tls/pki.h"

#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace muster::testing_tls {
namespace {

long NextSerial() {                       // NOLINT(google-runtime-int): OpenSSL's type
  static std::atomic<long> serial{1000};  // NOLINT(google-runtime-int)
  return ++serial;
}

EvpKeyPtr MakeKey(KeyKind kind) {
  EVP_PKEY* key = kind == KeyKind::kP256 ? EVP_EC_gen("P-256") : EVP_RSA_gen(kind == KeyKind::kRsa1024 ? 1024 : 2048);
  MUSTER_CHECK(key != nullptr, "a key");
  return EvpKeyPtr(key);
}

std::string KeyPem(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return BioText(bio.get());
}

void AddExtension(X509* x509, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, x509, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  MUSTER_CHECK(extension != nullptr, "an extension");
  X509_add_ext(x509, extension, -1);
  X509_EXTENSION_free(extension);
}

void PushName(GENERAL_NAMES* names, int type, const std::string& bytes) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_STRING* text = ASN1_STRING_type_new(V_ASN1_IA5STRING);
  ASN1_STRING_set(text, bytes.data(), static_cast<int>(bytes.size()));
  GENERAL_NAME_set0_value(name, type, text);
  sk_GENERAL_NAME_push(names, name);
}

void AddNames(X509* x509, const CertificateSpec& spec) {
  const GeneralNamesPtr names(sk_GENERAL_NAME_new_null());
  for (const std::string& uri : spec.uris) PushName(names.get(), GEN_URI, uri);
  for (const std::string& dns : spec.dns) PushName(names.get(), GEN_DNS, dns);
  for (const std::string& ip : spec.ips) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, GEN_IPADD, a2i_IPADDRESS(ip.c_str()));
    sk_GENERAL_NAME_push(names.get(), name);
  }
  if (sk_GENERAL_NAME_num(names.get()) > 0) {
    X509_add1_ext_i2d(x509, NID_subject_alt_name, names.get(), 0, X509V3_ADD_APPEND);
  }
}

void SetName(X509_NAME* name, const std::string& common_name) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(common_name.data()),
                             static_cast<int>(common_name.size()), -1, 0);
}

// Signs itself if `issuer` is null.
Certificate Make(const CertificateSpec& spec, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  X509Ptr x509(X509_new());
  X509_set_version(x509.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), NextSerial());
  X509_gmtime_adj(X509_getm_notBefore(x509.get()), absl::ToInt64Seconds(spec.from));
  X509_gmtime_adj(X509_getm_notAfter(x509.get()), absl::ToInt64Seconds(spec.until));
  SetName(X509_get_subject_name(x509.get()), spec.common_name);
  X509_set_issuer_name(x509.get(), X509_get_subject_name(issuer == nullptr ? x509.get() : issuer));
  X509_set_pubkey(x509.get(), key);
  X509* parent = issuer == nullptr ? x509.get() : issuer;
  AddExtension(x509.get(), parent, NID_basic_constraints, spec.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  AddExtension(x509.get(), parent, NID_key_usage,
               spec.is_authority ? "critical,keyCertSign,cRLSign"
               : spec.may_sign   ? "critical,digitalSignature,keyCertSign"
                                 : "critical,digitalSignature");
  AddExtension(x509.get(), parent, NID_subject_key_identifier, "hash");
  AddExtension(x509.get(), parent, NID_authority_key_identifier, "keyid");
  if (!spec.usages.empty() && !spec.is_authority) AddExtension(x509.get(), parent, NID_ext_key_usage, spec.usages);
  AddNames(x509.get(), spec);
  const int size =
      X509_sign(x509.get(), issuer_key == nullptr ? key : issuer_key, spec.uses_sha1 ? EVP_sha1() : EVP_sha256());
  MUSTER_CHECK(size > 0, "a signature");
  return Certificate(std::move(x509));
}

CertificateSpec AuthoritySpec(const std::string& common_name) {
  CertificateSpec spec;
  spec.common_name = common_name;
  spec.is_authority = true;
  spec.from = -absl::Hours(24);
  spec.until = absl::Hours(24 * 3650);
  return spec;
}

}  // namespace

std::string ToPkcs12(const Issued& issued, const std::string& password) {
  const BioPtr bio = MemoryBio(issued.key_pem);
  const EvpKeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  const auto chain = ParseCertificates(issued.chain_pem);
  MUSTER_CHECK(chain.ok(), "a chain");
  const X509BorrowPtr others(sk_X509_new_null());
  for (size_t i = 1; i < chain->size(); ++i) sk_X509_push(others.get(), (*chain)[i].get());
  const Pkcs12Ptr p12(PKCS12_create(password.c_str(), "muster", key.get(), issued.certificate.get(), others.get(), 0, 0,
                                    2048, 2048, 0));
  const BioPtr out(BIO_new(BIO_s_mem()));
  i2d_PKCS12_bio(out.get(), p12.get());
  return BioText(out.get());
}

Authority::Authority(const std::string& common_name, KeyKind kind) : key_(MakeKey(kind)) {
  certificate_ = Make(AuthoritySpec(common_name), key_.get(), nullptr, nullptr);
}

Issued Authority::Issue(const CertificateSpec& spec) {
  const EvpKeyPtr key = MakeKey(spec.key);
  Issued issued;
  issued.certificate = Make(spec, key.get(), certificate_.get(), key_.get());
  issued.chain_pem = issued.certificate.ToPem() + chain_pem_;
  issued.key_pem = KeyPem(key.get());
  return issued;
}

Authority Authority::IssueAuthority(const std::string& common_name) {
  EvpKeyPtr key = MakeKey(KeyKind::kP256);
  Certificate made = Make(AuthoritySpec(common_name), key.get(), certificate_.get(), key_.get());
  std::string chain = made.ToPem() + chain_pem_;
  return Authority(std::move(made), std::move(key), std::move(chain));
}

Certificate Authority::Renew(const Authority& below, const std::string& common_name) {
  return Make(AuthoritySpec(common_name), below.key_.get(), certificate_.get(), key_.get());
}

std::string Authority::RevocationList(const std::vector<Certificate>& revoked, absl::Duration from,
                                      absl::Duration until, uint32_t number) const {
  const X509CrlPtr crl(X509_CRL_new());
  X509_CRL_set_version(crl.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(certificate_.get()));
  ASN1_TIME* time = ASN1_TIME_new();
  X509_gmtime_adj(time, absl::ToInt64Seconds(from));
  X509_CRL_set1_lastUpdate(crl.get(), time);
  for (const Certificate& certificate : revoked) {
    X509_REVOKED* entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate.get()));
    X509_REVOKED_set_revocationDate(entry, time);
    X509_CRL_add0_revoked(crl.get(), entry);
  }
  if (until != absl::ZeroDuration()) {
    X509_gmtime_adj(time, absl::ToInt64Seconds(until));
    X509_CRL_set1_nextUpdate(crl.get(), time);
  }
  ASN1_TIME_free(time);
  if (number > 0) {
    ASN1_INTEGER* value = ASN1_INTEGER_new();
    ASN1_INTEGER_set_uint64(value, number);
    X509_CRL_add1_ext_i2d(crl.get(), NID_crl_number, value, 0, 0);
    ASN1_INTEGER_free(value);
  }
  X509_CRL_sort(crl.get());
  X509_CRL_sign(crl.get(), key_.get(), EVP_sha256());
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_CRL(bio.get(), crl.get());
  return BioText(bio.get());
}

Issued SelfSigned(const CertificateSpec& spec) {
  const EvpKeyPtr key = MakeKey(spec.key);
  Issued issued;
  issued.certificate = Make(spec, key.get(), nullptr, nullptr);
  issued.chain_pem = issued.certificate.ToPem();
  issued.key_pem = KeyPem(key.get());
  return issued;
}

Issued IssueBelow(const Issued& issuer, const CertificateSpec& spec) {
  const BioPtr bio = MemoryBio(issuer.key_pem);
  const EvpKeyPtr issuer_key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  const EvpKeyPtr key = MakeKey(spec.key);
  Issued issued;
  issued.certificate = Make(spec, key.get(), issuer.certificate.get(), issuer_key.get());
  issued.chain_pem = issued.certificate.ToPem() + issuer.chain_pem;
  issued.key_pem = KeyPem(key.get());
  return issued;
}

std::string NodeUri(const std::string& id, const std::string& job) {
  return absl::StrCat("spiffe://", kDomain, "/muster/", job, "/node/", id);
}
std::string HostUri(const std::string& host, const std::string& job) {
  return absl::StrCat("spiffe://", kDomain, "/muster/", job, "/host/", host, "/*");
}
std::string SchedulerUri(const std::string& job) {
  return absl::StrCat("spiffe://", kDomain, "/muster/", job, "/scheduler");
}
std::string AdminUri(const std::string& job) { return absl::StrCat("spiffe://", kDomain, "/muster/", job, "/admin"); }

CertificateSpec SchedulerSpec() {
  CertificateSpec spec;
  spec.common_name = "scheduler";
  spec.uris = {SchedulerUri()};
  spec.dns = {"localhost"};
  spec.ips = {"127.0.0.1"};
  spec.usages = "serverAuth";
  return spec;
}

CertificateSpec NodeSpec(const std::string& id) {
  CertificateSpec spec = UriSpec({NodeUri(id)});
  spec.common_name = id;
  return spec;
}

CertificateSpec UriSpec(const std::vector<std::string>& uris) {
  CertificateSpec spec;
  spec.uris = uris;
  return spec;
}

TlsFolder::TlsFolder() {
  folder_ = (std::filesystem::temp_directory_path() / "muster-tls-XXXXXX").string();
  MUSTER_CHECK(mkdtemp(folder_.data()) != nullptr, "a folder");
}

TlsFolder::~TlsFolder() { std::filesystem::remove_all(folder_); }

void TlsFolder::Write(const std::string& name, const std::string& bytes) const {
  const std::string fresh = path(name + ".new");
  std::ofstream(fresh, std::ios::binary) << bytes;
  chmod(fresh.c_str(), 0600);
  std::filesystem::rename(fresh, path(name));
}

std::string TlsFolder::WriteConfig(bool has_list, const std::string& more) const {
  Write("tls.json",
        absl::StrCat(R"({"server_cert_path": "server.pem", "client_cert_path": "client.pem", )",
                     R"("ca_cert_path": "ca.crt", "crl_path": ")", has_list ? "crl.pem" : "", "\"", more, "}"));
  return path("tls.json");
}

}  // namespace muster::testing_tls
