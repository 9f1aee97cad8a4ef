// The files of the web page. At build time page/embed.cmake turns the files in page/assets/ into a C++ source.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "scheduler/http/response.h"

namespace muster::http {

struct Asset {
  const char* path;  // "/style.css"; index.html has "/"
  const char* content_type;
  absl::string_view text;
};

// One entry for each path; a null path ends the array.
extern const Asset kAssets[];

// Returns the response with the whole file, or status 304 if `if_none_match` shows that the browser has this version.
// Null: there is no such file.
ResponsePtr FindAsset(const std::string& path, const std::string& if_none_match);

}  // namespace muster::http
