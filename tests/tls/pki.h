// Makes authorities and certificates for tests, good ones and hostile ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/tls/material/certificate.h"
#include "common/tls/material/openssl.h"

namespace muster::testing_tls {

enum class KeyKind { kP256, kRsa2048, kRsa1024 };

struct CertificateSpec {
  std::string common_name = "peer";
  std::vector<std::string> uris;  // taken over byte for byte
  std::vector<std::string> dns;
  std::vector<std::string> ips;
  std::string usages = "clientAuth,serverAuth";  // extended key usage; empty: no such extension
  absl::Duration from = -absl::Hours(1);         // from now
  absl::Duration until = absl::Hours(24 * 365);
  KeyKind key = KeyKind::kP256;
  bool uses_sha1 = false;
  bool is_authority = false;
  bool may_sign = false;  // its key usage allows it, though it is no authority
};

struct Issued {
  Certificate certificate;
  std::string chain_pem;  // its own certificate, then intermediates
  std::string key_pem;
  std::string all_pem() const { return chain_pem + key_pem; }
};

// Empty `password`: none. `legacy`: encrypted with RC2-40, as old programs did (needs OpenSSL's legacy provider).
std::string ToPkcs12(const Issued& issued, const std::string& password);

class Authority {
 public:
  explicit Authority(const std::string& common_name = "Test CA", KeyKind key = KeyKind::kP256);

  Issued Issue(const CertificateSpec& spec);
  // Makes an intermediate authority under this one. Its chains include its own certificate.
  Authority IssueAuthority(const std::string& common_name);
  // Another certificate for an authority under this one, and its key.
  Certificate Renew(const Authority& below, const std::string& common_name);

  // A list of these certificates, valid from `from` until `until`, relative to now; zero `until`: for ever. `number` 0:
  // no number.
  std::string RevocationList(const std::vector<Certificate>& revoked, absl::Duration from = -absl::Minutes(1),
                             absl::Duration until = absl::Hours(24), uint32_t number = 0) const;

  const Certificate& certificate() const { return certificate_; }
  std::string pem() const { return certificate_.ToPem(); }

 private:
  Authority(Certificate certificate, EvpKeyPtr key, std::string chain_pem)
      : certificate_(std::move(certificate)), key_(std::move(key)), chain_pem_(std::move(chain_pem)) {}

  Certificate certificate_;
  EvpKeyPtr key_;
  std::string chain_pem_;  // for its certificates' chains: empty for a root
};

Issued SelfSigned(const CertificateSpec& spec);
// Signs with the key of a certificate that is no authority's, and adds that one's chain.
Issued IssueBelow(const Issued& issuer, const CertificateSpec& spec);

// The names follow docs/security.md.
inline constexpr char kDomain[] = "test.example";
std::string NodeUri(const std::string& id, const std::string& job = "default");
std::string HostUri(const std::string& host, const std::string& job = "default");
std::string SchedulerUri(const std::string& job = "*");
std::string AdminUri(const std::string& job = "*");

CertificateSpec SchedulerSpec();                  // for 127.0.0.1 and localhost
CertificateSpec NodeSpec(const std::string& id);  // of the job "default"
CertificateSpec UriSpec(const std::vector<std::string>& uris);

// A folder with what a program needs: ca.crt, <side>.pem, crl.pem, tls.json.
class TlsFolder {
 public:
  TlsFolder();
  ~TlsFolder();
  TlsFolder(const TlsFolder&) = delete;
  TlsFolder& operator=(const TlsFolder&) = delete;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Replaces the file in one step, mode 0600.
  void Write(const std::string& name, const std::string& bytes) const;
  // tls.json with these files; a revocation list if `has_list`. Returns its path.
  std::string WriteConfig(bool has_list, const std::string& more = "") const;

 private:
  std::string folder_;
};

}  // namespace muster::testing_tls
