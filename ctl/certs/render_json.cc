#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "ctl/certs/render.h"

namespace muster::certs {
namespace {

using Json = nlohmann::ordered_json;

std::string Document(const Json& json) {
  return EscapeJson(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

Json ListedJson(const IndexEntry& entry, const std::string& status) {
  return {{"name", entry.subject.name},
          {"kind", KindWord(entry.subject.kind)},
          {"status", status},
          {"serial", entry.serial},
          {"uri", entry.subject.uri},
          {"hosts", entry.subject.hosts},
          {"form", entry.form == Form::kP12 ? "p12" : "pem"},
          {"not_before", TimeText(entry.not_before)},
          {"not_after", TimeText(entry.not_after)},
          {"fingerprint", entry.fingerprint},
          {"revoked_at", entry.revoked_at ? Json(TimeText(*entry.revoked_at)) : Json()},
          {"reason", entry.reason.empty() ? Json() : Json(entry.reason)}};
}

Json FolderJson(const CertFolder& folder) {
  return {{"dir", folder.path()},
          {"trust_domain", folder.index().trust_domain},
          {"authority_not_after", TimeText(folder.authority_not_after())},
          {"list_number", folder.index().list_number},
          {"list_next_update", TimeText(folder.list_next_update())}};
}

}  // namespace

std::string AuthorityJson(const CertFolder& folder) { return Document(FolderJson(folder)); }

std::string IssuedJson(const CertFolder& folder, const std::vector<IndexEntry>& issued) {
  Json certificates = Json::array();
  for (const IndexEntry& entry : issued) {
    Json json = ListedJson(entry, "valid");
    const std::string own = absl::StrCat(folder.path(), "/", entry.subject.name);
    json["folder"] = own;
    json["tls_config"] = own + "/tls.json";
    certificates.push_back(std::move(json));
  }
  return Document({{"certificates", std::move(certificates)}});
}

std::string RevokedJson(const CertFolder& folder, const std::vector<IndexEntry>& revoked,
                        const std::vector<IndexEntry>& already, absl::Time now) {
  Json out = FolderJson(folder);
  Json list = Json::array();
  for (const IndexEntry& entry : revoked) list.push_back(ListedJson(entry, "revoked"));
  out["revoked"] = std::move(list);
  list = Json::array();
  for (const IndexEntry& entry : already) list.push_back(ListedJson(entry, "revoked"));
  out["revoked_before"] = std::move(list);
  list = Json::array();
  for (const IndexEntry& entry : folder.index().entries) {
    const bool is_latest = folder.index().Latest(entry.subject.name) == &entry;
    if (is_latest && folder.index().HasLive(entry.subject.name, now)) {
      list.push_back(absl::StrCat(folder.path(), "/", entry.subject.name, "/crl.pem"));
    }
  }
  out["copies"] = std::move(list);
  return Document(out);
}

std::string ListJson(const CertFolder& folder, absl::Time now) {
  Json out = FolderJson(folder);
  Json certificates = Json::array();
  for (const IndexEntry& entry : folder.index().entries)
    certificates.push_back(ListedJson(entry, StatusWord(entry, now)));
  out["certificates"] = std::move(certificates);
  return Document(out);
}

std::string FileJson(const FileFacts& facts, absl::Time now) {
  Json certificates = Json::array();
  for (const CertificateFacts& c : facts.certificates) {
    certificates.push_back({{"subject", c.subject},
                            {"issuer", c.issuer},
                            {"serial", c.serial},
                            {"not_before", TimeText(c.not_before)},
                            {"not_after", TimeText(c.not_after)},
                            {"in_time", c.not_before <= now && now < c.not_after},
                            {"uris", c.uris},
                            {"hosts", c.hosts},
                            {"usages", c.usages},
                            {"key", c.key},
                            {"signature", c.signature},
                            {"is_authority", c.is_authority},
                            {"has_key", c.has_key},
                            {"fingerprint", c.fingerprint}});
  }
  Json lists = Json::array();
  for (const ListFacts& l : facts.lists) {
    lists.push_back({{"issuer", l.issuer},
                     {"number", l.number},
                     {"this_update", TimeText(l.this_update)},
                     {"next_update", TimeText(l.next_update)},
                     {"is_overdue", l.next_update <= now},
                     {"revoked", l.serials}});
  }
  return Document({{"path", facts.path},
                   {"form", facts.form},
                   {"certificates", std::move(certificates)},
                   {"revocation_lists", std::move(lists)},
                   {"keys", facts.keys}});
}

}  // namespace muster::certs
