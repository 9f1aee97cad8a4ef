#include "worker_agent/gateway/script_store/request.h"

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace muster::script_store {
namespace {

using Json = nlohmann::json;

constexpr size_t kShownBytes = 40;

const std::map<std::string, Operation>& OperationsByName() {
  static const auto* const operations = new std::map<std::string, Operation>{
      {"get", Operation::kGet},
      {"peek", Operation::kPeek},
      {"wait", Operation::kWait},
      {"set", Operation::kSet},
      {"delete", Operation::kDelete},
      {"add", Operation::kAdd},
      {"compare_and_set", Operation::kCompareAndSet},
      {"list", Operation::kList},
      {"barrier", Operation::kBarrier},
  };
  return *operations;
}

const char* KeyNameOf(Operation operation) {
  if (operation == Operation::kBarrier) return "name";
  return operation == Operation::kList ? "prefix" : "key";
}

// Reads the members of one JSON object. `status` returns the first error.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  std::string Text(const char* name) {
    const Json* const member = Find(name);
    if (member == nullptr) return "";
    if (member->is_string()) return member->get<std::string>();
    Refuse(name, "is no text");
    return "";
  }

  std::optional<std::string> Bytes(const char* name) {
    const Json* const member = Find(name);
    if (member == nullptr) return std::nullopt;
    std::string bytes;
    if (!member->is_string() || !absl::Base64Unescape(member->get_ref<const std::string&>(), &bytes)) {
      Refuse(name, "is not in Base64");
    }
    return bytes;
  }

  template <typename Number>
  Number Integer(const char* name, Number otherwise) {
    const Json* const member = Find(name);
    if (member == nullptr) return otherwise;
    return As<Number>(name, *member);
  }

  std::vector<int32_t> Ranks(const char* name) {
    std::vector<int32_t> ranks;
    const Json* const member = Find(name);
    if (member == nullptr) return ranks;
    if (!member->is_array() || member->empty()) Refuse(name, "is no list of ranks");
    if (!status_.ok()) return ranks;
    for (const Json& rank : *member) ranks.push_back(As<int32_t>(name, rank));
    return ranks;
  }

  void Refuse(const char* name, const char* why) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat("\"", name, "\" ", why));
  }
  const absl::Status& status() const { return status_; }

 private:
  const Json* Find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  template <typename Number>
  Number As(const char* name, const Json& value) {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<Number>::max())) &&
                      value.get<int64_t>() <= std::numeric_limits<Number>::max() &&
                      value.get<int64_t>() >= std::numeric_limits<Number>::min();
    if (fits) return value.get<Number>();
    Refuse(name, "is no whole number in its range");
    return 0;
  }

  const Json& object_;
  absl::Status status_;
};

std::string LineOf(const Json& answer) { return answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

absl::StatusOr<Request> ReadRequest(std::string_view line) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("a request is one JSON object in a line");
  Members members(object);
  Request request;
  const std::string op = members.Text("op");
  const auto operation = OperationsByName().find(op);
  if (operation == OperationsByName().end()) {
    return absl::InvalidArgumentError(absl::StrCat("no such op: ", Quoted(op, kShownBytes)));
  }
  request.operation = operation->second;
  const char* const key = KeyNameOf(request.operation);
  request.key = members.Text(key);
  if (request.key.empty() && request.operation != Operation::kList) members.Refuse(key, "is empty");
  const std::optional<std::string> value = members.Bytes("value");
  const bool needs_value = request.operation == Operation::kSet || request.operation == Operation::kCompareAndSet;
  if (!value && needs_value) members.Refuse("value", "is missing");
  request.value = value.value_or("");
  request.expected = members.Bytes("expected");
  request.after = members.Text("after");
  request.delta = members.Integer<int64_t>("delta", 0);
  request.limit_ms = members.Integer<int64_t>("limit_ms", 0);
  if (request.limit_ms < 0) members.Refuse("limit_ms", "is negative");
  request.rank = members.Integer<int32_t>("rank", -1);
  request.ranks = members.Ranks("ranks");
  const std::string lifetime = members.Text("lifetime");
  if (lifetime == "run") request.lifetime = Lifetime::kRun;
  if (!lifetime.empty() && lifetime != "run" && lifetime != "round") {
    members.Refuse("lifetime", "is neither round nor run");
  }
  if (!members.status().ok()) return members.status();
  return request;
}

std::string Nothing() { return LineOf(Json::object()); }

std::string ValueLine(const std::optional<std::string>& value) {
  return LineOf({{"value", value ? Json(absl::Base64Escape(*value)) : Json()}});
}

std::string NumberLine(int64_t number) { return LineOf({{"number", number}}); }

std::string EntriesLine(const JobStore::Listing& listing) {
  Json entries = Json::array();
  for (const auto& [key, value] : listing.entries) entries.push_back(Json::array({key, absl::Base64Escape(value)}));
  return LineOf({{"entries", std::move(entries)}, {"has_more", listing.has_more}});
}

std::string ErrorLine(const absl::Status& status) {
  return LineOf({{"error", absl::StatusCodeToString(status.code())}, {"message", std::string(status.message())}});
}

}  // namespace muster::script_store
