#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/settings/settings.h"
#include "common/settings/values.h"

namespace muster {
namespace {

constexpr size_t kMaxTextBytes = 4096;
// Limits from here on only catch typing errors, so --help does not show them.
constexpr uint32_t kUnlimited = 1'000'000;
constexpr absl::Duration kUnlimitedTime = absl::Hours(24 * 30);

Setting Named(std::string flag, std::string value_name, std::string help) {
  Setting setting;
  setting.flag = std::move(flag);
  setting.value_name = std::move(value_name);
  setting.help = std::move(help);
  return setting;
}

absl::Status CheckText(const std::string& text) {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(absl::StrCat("must have at most ", kMaxTextBytes, " bytes"));
  }
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return absl::InvalidArgumentError("must not have control characters (a line end, a tab, …)");
    }
  }
  return absl::OkStatus();
}

// Returns the range for --help; empty if users need not know the limits. The next function does the same for durations.
std::string RangeOf(uint32_t low, uint32_t high) {
  if (low <= 1 && high >= kUnlimited) return "";
  return high < kUnlimited ? absl::StrCat(low, " to ", high) : absl::StrCat(low, " or more");
}

std::string RangeOf(absl::Duration low, absl::Duration high) {
  if (low == absl::ZeroDuration() && high >= kUnlimitedTime) return "";
  return high < kUnlimitedTime ? absl::StrCat(ShowDuration(low), " to ", ShowDuration(high))
                               : absl::StrCat(ShowDuration(low), " or more");
}

std::string ShowBool(bool value) { return value ? "1" : "0"; }

// Returns a function that stores the result of `parse` in *value.
template <typename T, typename Parse>
std::function<absl::Status(const std::string&)> StoreInto(T* value, Parse parse) {
  return [value, parse](const std::string& text) -> absl::Status {
    const auto parsed = parse(text);
    if (!parsed.ok()) return parsed.status();
    *value = *parsed;
    return absl::OkStatus();
  };
}

auto UintParser(uint32_t low, uint32_t high) {
  return [low, high](const std::string& text) -> absl::StatusOr<uint32_t> {
    const auto number = ParseWholeNumber(text, low, high);
    if (!number.ok()) return number.status();
    return static_cast<uint32_t>(*number);
  };
}

}  // namespace

Setting& SettingsTable::Add(Setting setting) {
  if (setting.group.empty()) setting.group = group_;
  if (setting.default_text.empty() && setting.show) setting.default_text = setting.show();
  return settings_.emplace_back(std::move(setting));
}

Setting& SettingsTable::AddString(std::string flag, std::string* value, std::string help) {
  Setting setting = Named(std::move(flag), "TEXT", std::move(help));
  setting.parse = [value](const std::string& text) {
    absl::Status status = CheckText(text);
    if (status.ok()) *value = text;
    return status;
  };
  setting.show = [value] { return *value; };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddStrings(std::string flag, std::vector<std::string>* values, std::string help) {
  Setting setting = Named(std::move(flag), "TEXT", std::move(help));
  setting.is_repeated = true;
  setting.parse = [values](const std::string& text) {
    values->push_back(text);
    return absl::OkStatus();
  };
  setting.show = [values] { return absl::StrJoin(*values, ", "); };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddBool(std::string flag, bool* value, std::string help) {
  Setting setting = Named(std::move(flag), "", std::move(help));
  setting.parse = StoreInto(value, ParseBool);
  setting.show = [value] { return ShowBool(*value); };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddOptionalBool(std::string flag, std::optional<bool>* value, std::string help) {
  Setting setting = Named(std::move(flag), "", std::move(help));
  setting.parse = StoreInto(value, ParseBool);
  setting.show = [value] { return value->has_value() ? ShowBool(**value) : ""; };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddUint(std::string flag, uint32_t* value, uint32_t low, uint32_t high, std::string help) {
  Setting setting = Named(std::move(flag), "N", std::move(help));
  setting.range_text = RangeOf(low, high);
  setting.parse = StoreInto(value, UintParser(low, high));
  setting.show = [value] { return absl::StrCat(*value); };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddOptionalUint(std::string flag, std::optional<uint32_t>* value, uint32_t low, uint32_t high,
                                        std::string help) {
  Setting setting = Named(std::move(flag), "N", std::move(help));
  setting.range_text = RangeOf(low, high);
  setting.parse = StoreInto(value, UintParser(low, high));
  setting.show = [value] { return value->has_value() ? absl::StrCat(**value) : ""; };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddPort(std::string flag, uint16_t* value, std::string help) {
  Setting setting = Named(std::move(flag), "PORT", std::move(help));
  setting.range_text = "1024 to 65535, or 0 for one that the kernel chooses";
  setting.parse = [value](const std::string& text) -> absl::Status {
    const auto number = ParseWholeNumber(text, 0, 65535);
    if (!number.ok() || (*number != 0 && *number < 1024)) {
      return absl::InvalidArgumentError("must be a port from 1024 to 65535, or 0 for one that the kernel chooses");
    }
    *value = static_cast<uint16_t>(*number);
    return absl::OkStatus();
  };
  setting.show = [value] { return absl::StrCat(*value); };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddSeconds(std::string flag, absl::Duration* value, absl::Duration low, absl::Duration high,
                                   std::string help) {
  Setting setting = Named(std::move(flag), "SECONDS", std::move(help));
  setting.range_text = RangeOf(low, high);
  setting.parse =
      StoreInto(value, [low, high](const std::string& text) { return ParseDuration(text, low, high, false); });
  setting.show = [value] { return ShowDuration(*value); };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddOptionalSeconds(std::string flag, std::optional<absl::Duration>* value, absl::Duration low,
                                           absl::Duration high, bool allows_forever, std::string help) {
  Setting setting = Named(std::move(flag), "SECONDS", std::move(help));
  setting.range_text = RangeOf(low, high);
  if (allows_forever) absl::StrAppend(&setting.range_text, setting.range_text.empty() ? "" : ", or ", "-1 for ever");
  setting.parse = StoreInto(value, [low, high, allows_forever](const std::string& text) {
    return ParseDuration(text, low, high, allows_forever);
  });
  setting.show = [value] { return value->has_value() ? ShowDuration(**value) : ""; };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddChoice(std::string flag, std::string* value, std::vector<std::string> choices,
                                  std::string help) {
  Setting setting = Named(std::move(flag), absl::StrJoin(choices, "|"), std::move(help));
  setting.parse = [value, choices = std::move(choices)](const std::string& text) -> absl::Status {
    for (const std::string& choice : choices) {
      if (text != choice) continue;
      *value = text;
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("must be one of: ", absl::StrJoin(choices, ", ")));
  };
  setting.show = [value] { return *value; };
  return Add(std::move(setting));
}

Setting& SettingsTable::AddIgnored(std::string flag, std::string value_name, std::vector<std::string> env) {
  Setting setting = Named(std::move(flag), std::move(value_name), "");
  setting.env = std::move(env);
  setting.is_hidden = true;
  setting.is_ignored = true;
  setting.is_repeated = true;  // the other program checks whether it may be repeated
  setting.parse = [](const std::string&) { return absl::OkStatus(); };
  setting.show = [] { return std::string(); };
  return Add(std::move(setting));
}

void SettingsTable::Forbid(std::string flag, std::string why) { forbidden_[std::move(flag)] = std::move(why); }

}  // namespace muster
