#include "common/tls/tls_hand_over.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/sys/secret_descriptor.h"
#include "common/tls/material/tls_file.h"

namespace muster {
namespace {

using nlohmann::json;

absl::Status MalformedHandOver(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the TLS settings that this process was given are malformed: ", what));
}

// Returns the field's text; empty if the field is missing or is no text.
std::string TextOf(const json& packed, const char* field) {
  const auto found = packed.find(field);
  return found != packed.end() && found->is_string() ? found->get<std::string>() : "";
}

bool IsTrue(const json& packed, const char* field) {
  const auto found = packed.find(field);
  return found != packed.end() && found->is_boolean() && found->get<bool>();
}

absl::StatusOr<std::vector<RevocationList>> ListsOf(const json& packed, const std::vector<Certificate>& authorities,
                                                    absl::Time now) {
  if (!IsTrue(packed, "has_lists")) return std::vector<RevocationList>();
  const std::string path = TextOf(packed, "lists_path");
  if (path.empty()) {
    const std::string text = TextOf(packed, "lists");
    // An empty text means no lists. Peers that need a list are then refused.
    return text.empty() ? std::vector<RevocationList>() : ParseRevocationLists(text, authorities, now);
  }
  const absl::StatusOr<TlsFile> file = ReadTlsFile(path, FileSecrecy::kPublic);
  if (!file.ok()) return file.status();
  return ParseRevocationLists(file->bytes, authorities, now);
}

}  // namespace

absl::StatusOr<std::string> PackTls(const TlsStore& store, const KeyMaterial& identity) {
  const std::shared_ptr<const TlsState> state = store.Current();
  json packed = {{"identity", store.settings().identity},
                 {"crl_expired", store.settings().crl_expired},
                 {"ciphers", store.ciphers()},
                 {"key", identity.key_pem.text()},
                 {"chain", identity.ChainPem()},
                 {"authorities", state->AuthoritiesPem()},
                 {"has_lists", state->trust->has_lists}};
  std::string lists;
  for (const RevocationList& list : state->trust->lists) {
    // Leave out the list of an authority that is no longer trusted: it may stay in force here for a while, but the
    // child could not verify it.
    if (list.IsByOneOf(state->trust->authorities)) lists += list.ToPem();
  }
  if (lists.size() <= kMaxSecretBytes / 2) {
    packed["lists"] = std::move(lists);
  } else {
    packed["lists_path"] = store.crl_path();
  }
  std::string bytes = packed.dump(-1, ' ', false, json::error_handler_t::replace);
  Wipe(packed["key"].get_ref<std::string&>());
  if (bytes.size() <= kMaxSecretBytes) return bytes;
  const size_t size = bytes.size();
  Wipe(bytes);
  return absl::ResourceExhaustedError(absl::StrCat("certificates, authorities and lists take ", size,
                                                   " bytes; at most ", kMaxSecretBytes,
                                                   " can be passed to ms-ring and to the process that sends the last "
                                                   "report: remove authorities from the file that ca_cert_path names"));
}

absl::StatusOr<HandedOverTls> UnpackTls(const std::string& bytes, absl::Time now) {
  json packed = json::parse(bytes, nullptr, false);
  if (!packed.is_object()) return MalformedHandOver("no object");
  HandedOverTls handed;
  handed.settings.identity = TextOf(packed, "identity");
  handed.settings.crl_expired = TextOf(packed, "crl_expired");
  // A missing field must never make the child trust more.
  if (handed.settings.identity != "ca-only" && handed.settings.identity != "name") return MalformedHandOver("identity");
  handed.ciphers = TextOf(packed, "ciphers");

  const std::string chain = TextOf(packed, "chain");
  std::string key = TextOf(packed, "key");
  absl::StatusOr<KeyMaterial> identity = ParsePem(chain, key, Secret());
  Wipe(key);
  if (const auto found = packed.find("key"); found != packed.end() && found->is_string()) {
    Wipe(found->get_ref<std::string&>());
  }
  if (!identity.ok()) return MalformedHandOver(identity.status().message());
  absl::StatusOr<std::vector<Certificate>> authorities = ParseCertificates(TextOf(packed, "authorities"));
  if (!authorities.ok()) return MalformedHandOver(authorities.status().message());
  absl::StatusOr<std::vector<RevocationList>> lists = ListsOf(packed, *authorities, now);
  if (!lists.ok()) return lists.status();

  PeerNameResult name = NameOf(identity->leaf());
  if (name.refusal.ok()) handed.state.own_name = name.name;
  if (handed.settings.needs_name() && !name.refusal.ok()) return MalformedHandOver(name.refusal.text);
  handed.state.identity_generation = handed.state.trust_generation = 1;
  handed.state.identity = std::make_shared<const KeyMaterial>(*std::move(identity));
  handed.state.trust = BuildTrust(*std::move(authorities), IsTrue(packed, "has_lists"), *std::move(lists));
  return handed;
}

absl::StatusOr<std::optional<HandedOverTls>> TakeHandedOverTls(absl::Time now) {
  const char* value = getenv(kTlsHandOverVariable);
  if (value == nullptr) return std::optional<HandedOverTls>();
  int fd = -1;
  const bool is_number = absl::SimpleAtoi(value, &fd) && fd > 2;
  unsetenv(kTlsHandOverVariable);
  if (!is_number) return MalformedHandOver(kTlsHandOverVariable);
  absl::StatusOr<std::string> bytes = TakeSecret(fd);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<HandedOverTls> handed = UnpackTls(*bytes, now);
  Wipe(*bytes);
  if (!handed.ok()) return handed.status();
  return std::optional<HandedOverTls>(*std::move(handed));
}

}  // namespace muster
