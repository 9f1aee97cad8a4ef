#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "common/tls/material/openssl.h"
#include "common/tls/tls_config.h"

namespace muster {
namespace {

constexpr size_t kMaxListBytes = 16 * 1024;
constexpr size_t kMaxNamed = 4;  // names that the warning shows

using SslCtxPtr = std::unique_ptr<SSL_CTX, OpenSslDelete<SSL_CTX_free>>;

enum class Kind { kUnknown, kUnusable, kUsable, kTls13 };

Kind KindOf(SSL_CTX* context, const std::string& name) {
  if (absl::StartsWith(name, "TLS_"))
    return SSL_CTX_set_ciphersuites(context, name.c_str()) == 1 ? Kind::kTls13 : Kind::kUnknown;
  // A list must consist of names. Words like ALL or HIGH, and operators, are OpenSSL's rules and no names.
  const bool is_name = absl::StrContains(name, "-") && name.find_first_of("+!@-") != 0;
  if (!is_name || SSL_CTX_set_cipher_list(context, name.c_str()) != 1) return Kind::kUnknown;
  const STACK_OF(SSL_CIPHER)* ciphers = SSL_CTX_get_ciphers(context);
  for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
    const SSL_CIPHER* cipher = sk_SSL_CIPHER_value(ciphers, i);
    if (name != SSL_CIPHER_get_name(cipher)) continue;
    const int auth = SSL_CIPHER_get_auth_nid(cipher);
    const bool is_usable = SSL_CIPHER_is_aead(cipher) == 1 && SSL_CIPHER_get_kx_nid(cipher) == NID_kx_ecdhe &&
                           (auth == NID_auth_rsa || auth == NID_auth_ecdsa);
    return is_usable ? Kind::kUsable : Kind::kUnusable;
  }
  return Kind::kUnknown;
}

std::string Named(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < names.size() && i < kMaxNamed; ++i) shown.push_back(Quoted(names[i], 60));
  return absl::StrCat(absl::StrJoin(shown, ", "),
                      names.size() > kMaxNamed ? absl::StrCat(" and ", names.size() - kMaxNamed, " more") : "");
}

}  // namespace

absl::StatusOr<CipherList> ChooseCiphers(const std::string& list) {
  if (list.size() > kMaxListBytes) {
    return absl::InvalidArgumentError(absl::StrCat("has ", list.size(), " bytes; at most ", kMaxListBytes));
  }
  const SslCtxPtr context(SSL_CTX_new(TLS_method()));
  if (context == nullptr) return absl::InternalError("OpenSSL gives no context");
  // Level 2 is Debian's default. Ciphers that are too weak for it count as not usable.
  SSL_CTX_set_security_level(context.get(), 2);
  std::vector<std::string> usable, unknown, unusable;
  for (const absl::string_view part : absl::StrSplit(list, absl::ByAnyChar(":,"), absl::SkipWhitespace())) {
    const std::string name(absl::StripAsciiWhitespace(part));
    switch (KindOf(context.get(), name)) {
      case Kind::kUnknown:
        unknown.push_back(name);
        break;
      case Kind::kUnusable:
        unusable.push_back(name);
        break;
      case Kind::kUsable:
        usable.push_back(name);
        break;
      case Kind::kTls13:
        break;
    }
  }
  ERR_clear_error();
  if (usable.empty()) {
    return absl::InvalidArgumentError(
        "has no suite that can be used with TLS 1.2: name at least one like ECDHE-ECDSA-AES128-GCM-SHA256 or "
        "ECDHE-RSA-AES256-GCM-SHA384, or leave the field out");
  }
  CipherList chosen{absl::StrJoin(usable, ":"), ""};
  if (!unknown.empty()) chosen.warning = absl::StrCat("dropped unknown cipher suites: ", Named(unknown));
  if (!unusable.empty()) {
    absl::StrAppend(&chosen.warning, chosen.warning.empty() ? "dropped " : "; dropped ", unusable.size(),
                    " more that Muster does not use (only ECDHE with GCM, CCM or ChaCha20-Poly1305)");
  }
  return chosen;
}

}  // namespace muster
