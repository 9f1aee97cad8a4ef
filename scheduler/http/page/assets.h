// The page's files as of build time (page/assets/, turned into a source by page/embed.cmake).
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "scheduler/http/response.h"

namespace muster::http {

struct Asset {
  const char* path;  // "/style.css"; the page itself: "/"
  const char* content_type;
  absl::string_view text;
};

// One entry for each path; a null path ends the array.
extern const Asset kAssets[];

// Returns the whole file, or 304 if the browser has it (`if_none_match`); null: there is no such file.
ResponsePtr FindAsset(const std::string& path, const std::string& if_none_match);

}  // namespace muster::http
