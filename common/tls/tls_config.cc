#include "common/tls/tls_config.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/settings/settings.h"
#include "common/sys/runtime_paths.h"
#include "common/tls/material/tls_file.h"

namespace muster {
namespace {

constexpr size_t kMaxConfigBytes = 64 * 1024;
constexpr size_t kMaxPathBytes = 4096;
constexpr int kLeastWarningDays = 7;
constexpr int kMaxWarningDays = 180;

std::string Resolve(const std::string& config_path, const std::string& given,
                    const std::function<bool(const std::string&)>& exists) {
  const std::map<std::string, std::string> environment = ProcessEnvironment();
  const std::string path = ExpandHome(given, environment).value_or(given);
  if (path.empty() || path[0] == '/') return path;
  const std::string beside = (std::filesystem::path(config_path).parent_path() / path).string();
  return !exists(beside) && exists(path) ? AbsolutePath(path, environment).value_or(path) : beside;
}

absl::Status Wrong(const std::string& field, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", what));
}

absl::Status TakeText(const nlohmann::json& value, const std::string& field, std::string& out) {
  if (!value.is_string()) return Wrong(field, absl::StrCat("is ", value.type_name(), "; expected a text in quotes"));
  out = value.get<std::string>();
  if (out.find('\0') != std::string::npos) return Wrong(field, "holds a NUL character");
  return absl::OkStatus();
}

absl::Status TakeDays(const nlohmann::json& value, int& days) {
  const std::string field = "cert_expire_warning_time_in_day";
  const std::string rule = absl::StrCat("; expected a whole number from ", kLeastWarningDays, " to ", kMaxWarningDays);
  if (!value.is_number_integer()) return Wrong(field, absl::StrCat("is ", value.type_name(), rule));
  const bool is_in_range = value >= kLeastWarningDays && value <= kMaxWarningDays;
  if (!is_in_range) return Wrong(field, absl::StrCat("is ", value.dump(), rule));
  days = value.get<int>();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TlsConfig> ParseTlsConfig(const std::string& path, const std::string& text,
                                         const std::function<bool(const std::string& path)>& exists) {
  const auto in_file = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("tls_config ", path, ": ", what));
  };
  if (text.size() > kMaxConfigBytes) return in_file("it is too large for a TLS configuration");
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return in_file("it is not JSON; expected {\"ca_cert_path\": \"ca.crt\", …}");
  if (!json.is_object()) return in_file(absl::StrCat("it holds ", json.type_name(), "; expected a JSON object"));

  TlsConfig config;
  config.path = path;
  const std::map<std::string, std::string*> paths = {
      {"server_cert_path", &config.server_cert_path}, {"server_key_path", &config.server_key_path},
      {"client_cert_path", &config.client_cert_path}, {"client_key_path", &config.client_key_path},
      {"ca_cert_path", &config.ca_cert_path},         {"crl_path", &config.crl_path}};
  for (const auto& [field, value] : json.items()) {
    absl::Status status;
    if (const auto found = paths.find(field); found != paths.end()) {
      status = TakeText(value, field, *found->second);
      if (status.ok() && found->second->size() > kMaxPathBytes) status = Wrong(field, "is too long for a path");
      if (status.ok()) *found->second = Resolve(path, *found->second, exists);
    } else if (field == "cipher_list") {
      status = TakeText(value, field, config.cipher_list);
    } else if (field == "cert_expire_warning_time_in_day") {
      status = TakeDays(value, config.warning_days);
    } else {
      config.warnings.push_back(
          absl::StrCat("tls_config ", path, ": the field ", Quoted(field, 60), " is not known and has no effect"));
    }
    if (!status.ok()) return in_file(std::string(status.message()));
  }
  if (config.ca_cert_path.empty()) {
    return in_file("ca_cert_path is missing; expected the file with the authority's certificate");
  }
  return config;
}

absl::StatusOr<TlsConfig> ReadTlsConfig(const std::string& path) {
  const absl::StatusOr<TlsFile> file = ReadTlsFile(path, FileSecrecy::kPublic);
  if (!file.ok()) return absl::InvalidArgumentError(absl::StrCat("tls_config ", file.status().message()));
  return ParseTlsConfig(path, file->bytes, [](const std::string& name) {
    std::error_code error;
    return std::filesystem::exists(name, error);
  });
}

}  // namespace muster
