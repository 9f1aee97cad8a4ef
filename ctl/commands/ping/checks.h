// What a look has found: a line for each check, with what to do about it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster::ctl {

class Checks {
 public:
  void Ok(const char* name, std::string text) { checks_.push_back({name, "ok", std::move(text)}); }
  void Warning(const char* name, std::string text, std::string remedy) {
    checks_.push_back({name, "warning", std::move(text), std::move(remedy)});
  }
  void Error(const char* name, std::string text, std::string remedy) {
    checks_.push_back({name, "error", std::move(text), std::move(remedy)});
  }

  std::string AsText() const;
  // `scheduler`: who was looked at.
  std::string AsJson(const std::string& scheduler) const;

 private:
  struct Check {
    const char* name;
    const char* level;  // "ok", "warning", "error"
    std::string text;
    std::string remedy = {};  // empty with "ok"
  };

  std::vector<Check> checks_;
};

}  // namespace muster::ctl
