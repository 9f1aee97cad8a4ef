// The page's files, as they were at build time (page/assets/, made into a source by page/embed.cmake).
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

// By path; null at the end.
extern const Asset kAssets[];

// The whole file, or 304 where the browser has it (`if_none_match`); null: there is no such file.
ResponsePtr FindAsset(const std::string& path, const std::string& if_none_match);

}  // namespace muster::http
