// What was found out about certificates and can never change: what a PEM text says, and who signed whom. Thread-safe.
//
// OpenSSL 3 takes 170 µs to parse a certificate and 80 µs to check a signature (P-256), and a connection's own
// certificate is looked at when it shakes hands, when it opens a stream, and with each new revocation list.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/mutex.h"
#include "common/tls/material/certificate.h"

namespace muster {

class CertificateMemo {
 public:
  // What is remembered at most, of each kind; the memory is about 4 MB when all are used and texts are of usual size.
  // Anybody who can begin a handshake can fill it: then it only takes longer.
  static constexpr size_t kMostTexts = 256;
  static constexpr size_t kLongestText = 8 * 1024;  // longer ones are parsed each time
  static constexpr size_t kMostSignatures = 16'384;

  // The one of this process.
  static CertificateMemo& Shared();

  // As ParseCertificates, and empty for what it refuses.
  std::vector<Certificate> Parse(const std::string& pem);
  // Whether the issuer's key made the certificate's signature. Says nothing of names, dates and usage.
  bool HasSigned(const Certificate& issuer, const Certificate& certificate);

 private:
  // The entries of two generations: when one is full the one before is forgotten.
  template <typename Value>
  class Recent {
   public:
    explicit Recent(size_t most) : most_(most) {}
    // Null: not known.
    const Value* Find(const std::string& key) {
      if (const auto found = young_.find(key); found != young_.end()) return &found->second;
      const auto found = old_.find(key);
      if (found == old_.end()) return nullptr;
      Value value = std::move(found->second);
      old_.erase(found);
      return Put(key, std::move(value));
    }
    const Value* Put(const std::string& key, Value value) {
      if (young_.size() >= most_ / 2) old_ = std::exchange(young_, {});
      return &young_.insert_or_assign(key, std::move(value)).first->second;
    }

   private:
    const size_t most_;
    absl::flat_hash_map<std::string, Value> young_, old_;
  };

  Mutex mutex_;
  Recent<std::vector<Certificate>> texts_ ABSL_GUARDED_BY(mutex_){kMostTexts};
  Recent<bool> signatures_ ABSL_GUARDED_BY(mutex_){kMostSignatures};  // by both certificates' digests
};

}  // namespace muster
