#include "common/tls/peer/verified_chains.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

// Returns an empty key if memory is short.
std::string KeyOf(const std::vector<Certificate>& shown) {
  std::string key;
  for (const Certificate& certificate : shown) {
    const std::string digest = certificate.Digest();
    if (digest.empty()) return "";
    key += digest;
  }
  return key;
}

}  // namespace

std::optional<std::vector<Certificate>> VerifiedChains::Find(const std::vector<Certificate>& shown, absl::Time now) {
  const std::string key = KeyOf(shown);
  MutexLock lock(mutex_);
  const Verified* known = chains_.Find(key);
  if (known == nullptr || now < known->from || now >= known->until) return std::nullopt;
  return known->chain;
}

void VerifiedChains::Put(const std::vector<Certificate>& shown, const std::vector<Certificate>& chain) {
  std::string key = KeyOf(shown);
  if (key.empty() || chain.empty()) return;
  Verified verified{chain, absl::InfinitePast(), absl::InfiniteFuture()};
  for (const Certificate& certificate : chain) {
    verified.from = std::max(verified.from, certificate.NotBefore());
    verified.until = std::min(verified.until, certificate.NotAfter());
  }
  MutexLock lock(mutex_);
  chains_.Put(key, std::move(verified));
}

}  // namespace muster
