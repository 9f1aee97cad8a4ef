// The TLS configuration file, in MindSpore's form (a JSON object), and the settings around it.
//
//   server_cert_path                  .p12, or PEM with key and chain; the scheduler's
//   client_cert_path                  the same for ms-worker and ms-ctl
//   server_key_path, client_key_path  the key, where a PEM file holds only the chain
//   ca_cert_path                      the authorities' certificates, PEM
//   crl_path                          revocation lists, PEM or DER; "" or missing: none
//   cipher_list                       for TLS 1.2, "A:B:C"; missing: the defaults
//   cert_expire_warning_time_in_day   7 to 180, default 90
//
// Paths are relative to the file's folder, then to the working folder. Pure except for asking which files exist.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster {

struct TlsConfig {
  std::string path;  // of the file itself
  std::string server_cert_path, server_key_path;
  std::string client_cert_path, client_key_path;
  std::string ca_cert_path;
  std::string crl_path;  // empty: none
  std::string cipher_list;
  int warning_days = 90;
  std::vector<std::string> warnings;  // unknown fields
};

// Parses the file's text. Errors name the field, what was found, what was expected. `exists` is called with paths.
absl::StatusOr<TlsConfig> ParseTlsConfig(const std::string& path, const std::string& text,
                                         const std::function<bool(const std::string& path)>& exists);

// Reads and parses the file.
absl::StatusOr<TlsConfig> ReadTlsConfig(const std::string& path);

// ---- cipher_list.cc

struct CipherList {
  std::string usable;   // "A:B:C", in the given order
  std::string warning;  // one line on what was dropped; empty: nothing was
};

// Returns the ciphers of a list "A:B:C" that our TLS 1.2 servers and clients can use: ephemeral elliptic-curve key
// exchange with an AEAD cipher. The suites of TLS 1.3 are always on and may be in the list without effect. An error if
// nothing is left.
absl::StatusOr<CipherList> ChooseCiphers(const std::string& list);

}  // namespace muster
