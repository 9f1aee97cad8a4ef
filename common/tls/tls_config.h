// The TLS configuration file, in MindSpore's form (a JSON object):
//
//   server_cert_path                  the scheduler's certificate: a .p12 file, or PEM with key and chain
//   client_cert_path                  the same for ms-worker and ms-ctl
//   server_key_path, client_key_path  the key, if the PEM file has only the chain
//   ca_cert_path                      the authorities' certificates, PEM
//   crl_path                          revocation lists, PEM or DER; "" or missing: none
//   cipher_list                       for TLS 1.2, "A:B:C"; missing: the defaults
//   cert_expire_warning_time_in_day   7 to 180, default 90
//
// A relative path is looked up in the file's folder, then in the working folder. Pure, except that it asks which files
// exist.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster {

struct TlsConfig {
  std::string path;  // of the configuration file itself
  std::string server_cert_path, server_key_path;
  std::string client_cert_path, client_key_path;
  std::string ca_cert_path;
  std::string crl_path;  // empty: none
  std::string cipher_list;
  int warning_days = 90;
  std::vector<std::string> warnings;  // about unknown fields
};

// Parses the file's text. Errors name the field, what was found, and what was expected. `exists` says whether a path
// exists.
absl::StatusOr<TlsConfig> ParseTlsConfig(const std::string& path, const std::string& text,
                                         const std::function<bool(const std::string& path)>& exists);

// Reads and parses the file.
absl::StatusOr<TlsConfig> ReadTlsConfig(const std::string& path);

// ---- cipher_list.cc

struct CipherList {
  std::string usable;   // "A:B:C", in the given order
  std::string warning;  // one line about what was dropped; empty: nothing was dropped
};

// Returns those ciphers in the list "A:B:C" that our TLS 1.2 servers and clients can use: those with ephemeral
// elliptic-curve key exchange and an AEAD cipher. The suites of TLS 1.3 are always enabled; the list may name them
// without effect. Fails if no cipher is left.
absl::StatusOr<CipherList> ChooseCiphers(const std::string& list);

}  // namespace muster
