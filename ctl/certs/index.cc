#include "ctl/certs/index.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace muster::certs {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "muster.certificates/1";

Json EntryJson(const IndexEntry& entry) {
  Json json = {{"serial", entry.serial},
               {"name", entry.subject.name},
               {"kind", KindWord(entry.subject.kind)},
               {"uri", entry.subject.uri},
               {"hosts", entry.subject.hosts},
               {"form", entry.form == Form::kP12 ? "p12" : "pem"},
               {"not_before", TimeText(entry.not_before)},
               {"not_after", TimeText(entry.not_after)},
               {"fingerprint", entry.fingerprint},
               {"revoked_at", entry.revoked_at ? Json(TimeText(*entry.revoked_at)) : Json()},
               {"reason", entry.reason}};
  if (entry.is_unfinished) json["unfinished"] = true;
  return json;
}

// Reads the members of a JSON object. Keeps the name of the first member that is missing or has the wrong type.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  std::string Text(const char* name) {
    const auto found = object_.is_object() ? object_.find(name) : object_.end();
    if (!object_.is_object() || found == object_.end() || !found->is_string()) return Miss(name), "";
    return found->get<std::string>();
  }

  absl::Time Time(const char* name) {
    absl::Time time;
    std::string error;
    if (!absl::ParseTime(absl::RFC3339_full, Text(name), &time, &error)) Miss(name);
    return time;
  }

  std::optional<absl::Time> OptionalTime(const char* name) {
    const bool is_null = object_.is_object() && object_.contains(name) && object_.find(name)->is_null();
    if (is_null) return std::nullopt;
    return Time(name);
  }

  std::vector<std::string> Texts(const char* name) {
    std::vector<std::string> texts;
    const bool is_array = object_.is_object() && object_.contains(name) && object_.find(name)->is_array();
    if (!is_array) return Miss(name), texts;
    for (const Json& item : *object_.find(name)) {
      if (!item.is_string()) return Miss(name), texts;
      texts.push_back(item.get<std::string>());
    }
    return texts;
  }

  uint64_t Count(const char* name) {
    const bool is_count = object_.is_object() && object_.contains(name) && object_.find(name)->is_number_unsigned();
    return is_count ? object_.find(name)->get<uint64_t>() : (Miss(name), 0);
  }

  bool OptionalFlag(const char* name) {
    if (!object_.is_object() || !object_.contains(name)) return false;
    const Json& flag = *object_.find(name);
    return flag.is_boolean() ? flag.get<bool>() : (Miss(name), false);
  }

  const std::string& missed() const { return missed_; }

 private:
  void Miss(const char* name) {
    if (missed_.empty()) missed_ = name;
  }

  const Json& object_;
  std::string missed_;
};

bool IsSerial(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

absl::StatusOr<IndexEntry> ParseEntry(const Json& json) {
  Members members(json);
  IndexEntry entry;
  entry.serial = members.Text("serial");
  entry.subject.name = members.Text("name");
  const auto kind = KindFromWord(members.Text("kind"));
  entry.subject.uri = members.Text("uri");
  entry.subject.hosts = members.Texts("hosts");
  entry.form = members.Text("form") == "p12" ? Form::kP12 : Form::kPem;
  entry.not_before = members.Time("not_before");
  entry.not_after = members.Time("not_after");
  entry.fingerprint = members.Text("fingerprint");
  entry.revoked_at = members.OptionalTime("revoked_at");
  entry.reason = members.Text("reason");
  entry.is_unfinished = members.OptionalFlag("unfinished");
  std::string wrong = members.missed();
  if (wrong.empty() && !kind) wrong = "kind";
  if (wrong.empty() && !IsSerial(entry.serial)) wrong = "serial";
  if (wrong.empty() && !CheckName(entry.subject.name).ok()) wrong = "name";
  if (!wrong.empty()) return absl::InvalidArgumentError(absl::StrCat("member '", wrong, "' is missing or malformed"));
  entry.subject.kind = *kind;
  return entry;
}

absl::StatusOr<std::vector<RevokedSerial>> ParseOthers(const Json& file) {
  std::vector<RevokedSerial> others;
  const auto array = file.find("other_revoked");
  if (array == file.end()) return others;
  bool is_good = array->is_array();
  for (const Json& json : *array) {
    Members members(json);
    RevokedSerial other;
    other.serial = members.Text("serial");
    other.at = members.Time("revoked_at");
    other.reason = members.Text("reason");
    is_good = is_good && members.missed().empty() && IsSerial(other.serial);
    others.push_back(std::move(other));
  }
  if (!is_good) return absl::InvalidArgumentError("member 'other_revoked' is malformed");
  return others;
}

}  // namespace

const IndexEntry* Index::Latest(const std::string& name) const {
  const auto found =
      std::find_if(entries.rbegin(), entries.rend(), [&](const IndexEntry& e) { return e.subject.name == name; });
  return found == entries.rend() ? nullptr : &*found;
}

bool Index::HasLive(const std::string& name, absl::Time now) const {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const IndexEntry& e) { return e.subject.name == name && e.IsLive(now); });
}

std::string StatusWord(const IndexEntry& entry, absl::Time now) {
  if (entry.revoked_at) return "revoked";
  return now < entry.not_after ? "valid" : "expired";
}

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()); }

std::string IndexText(const Index& index) {
  Json certificates = Json::array();
  for (const IndexEntry& entry : index.entries) certificates.push_back(EntryJson(entry));
  Json file = {{"schema", kSchema},
               {"trust_domain", index.trust_domain},
               {"list_number", index.list_number},
               {"certificates", std::move(certificates)}};
  for (const RevokedSerial& other : index.others) {
    file["other_revoked"].push_back(
        {{"serial", other.serial}, {"revoked_at", TimeText(other.at)}, {"reason", other.reason}});
  }
  return file.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Index> ParseIndex(const std::string& text) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) return absl::InvalidArgumentError("it is no JSON object");
  Members members(file);
  if (members.Text("schema") != kSchema) {
    return absl::InvalidArgumentError(absl::StrCat("its \"schema\" is not \"", kSchema, "\""));
  }
  Index index;
  index.trust_domain = members.Text("trust_domain");
  index.list_number = members.Count("list_number");
  if (!members.missed().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("member '", members.missed(), "' is missing or malformed"));
  }
  const auto certificates = file.find("certificates");
  if (certificates == file.end() || !certificates->is_array()) {
    return absl::InvalidArgumentError("member 'certificates' is missing or malformed");
  }
  for (const Json& json : *certificates) {
    absl::StatusOr<IndexEntry> entry = ParseEntry(json);
    if (!entry.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("certificate ", index.entries.size() + 1, ": ", std::string(entry.status().message())));
    }
    index.entries.push_back(*std::move(entry));
  }
  absl::StatusOr<std::vector<RevokedSerial>> others = ParseOthers(file);
  if (!others.ok()) return others.status();
  index.others = *std::move(others);
  return index;
}

}  // namespace muster::certs
