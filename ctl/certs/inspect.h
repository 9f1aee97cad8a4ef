// Reads the contents of a certificate file, for `ms-ctl certs show`. Verifies nothing.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ctl/certs/password.h"

namespace muster::certs {

struct CertificateFacts {
  std::string subject;
  std::string issuer;
  std::string serial;
  absl::Time not_before;
  absl::Time not_after;
  std::vector<std::string> uris;
  std::vector<std::string> hosts;   // DNS names, then addresses
  std::vector<std::string> usages;  // "clientAuth", "serverAuth"; empty: not restricted
  std::string key;                  // "EC prime256v1, 256 bits"
  std::string signature;            // "ecdsa-with-SHA256"
  bool is_authority = false;
  bool has_key = false;  // the file also has its private key
  std::string fingerprint;
};

struct ListFacts {
  std::string issuer;
  std::string number;
  absl::Time this_update;
  absl::Time next_update;
  std::vector<std::string> serials;
};

struct FileFacts {
  std::string path;
  std::string form;  // "PEM", "PKCS#12", "DER"
  std::vector<CertificateFacts> certificates;
  std::vector<ListFacts> lists;
  int keys = 0;
};

// Reads a PEM file (with certificates, keys or revocation lists), a PKCS#12 file (with one of the passwords), or a
// certificate or list in DER. For a folder that ms-ctl certs made for a machine, reads the certificate in it. Errors
// name the file and the remedy.
absl::StatusOr<FileFacts> InspectFile(const std::string& path, const Passwords& passwords);

// Does the same for `bytes`, the content of the file at `path`.
absl::StatusOr<FileFacts> InspectBytes(const std::string& path, const std::string& bytes, const Passwords& passwords);

}  // namespace muster::certs
