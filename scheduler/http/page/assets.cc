#include "scheduler/http/page/assets.h"

#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/sha256.h"

namespace muster::http {
namespace {

struct Prepared {
  ResponsePtr whole, unchanged;
};

const std::map<std::string, Prepared>& AllPrepared() {
  static const auto* const all = [] {
    auto* made = new std::map<std::string, Prepared>;
    for (const Asset* asset = kAssets; asset->path != nullptr; ++asset) {
      Response whole{200, asset->content_type, std::string(asset->text)};
      whole.etag = absl::StrCat("\"", absl::BytesToHexString(Sha256(whole.body).substr(0, 16)), "\"");
      Response unchanged = whole;
      unchanged.status = 304;
      unchanged.body.clear();
      (*made)[asset->path] = {std::make_shared<const Response>(std::move(whole)),
                              std::make_shared<const Response>(std::move(unchanged))};
    }
    return made;
  }();
  return *all;
}

// True if the field If-None-Match is "*" or lists `etag`. A proxy may have put W/ (weak) before a tag.
bool Names(const std::string& if_none_match, const std::string& etag) {
  for (absl::string_view one : absl::StrSplit(if_none_match, ',')) {
    one = absl::StripPrefix(absl::StripAsciiWhitespace(one), "W/");
    if (one == etag || one == "*") return true;
  }
  return false;
}

}  // namespace

ResponsePtr FindAsset(const std::string& path, const std::string& if_none_match) {
  const auto found = AllPrepared().find(path);
  if (found == AllPrepared().end()) return nullptr;
  return Names(if_none_match, found->second.whole->etag) ? found->second.unchanged : found->second.whole;
}

}  // namespace muster::http
