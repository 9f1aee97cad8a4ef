// A client's requests at the HTTP port, in pieces. The first byte is their size. Covers the request, its target, Host
// and Authorization.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "common/base/check.h"
#include "scheduler/http/access.h"
#include "scheduler/http/metric_writer.h"
#include "scheduler/http/request.h"

namespace {

using muster::http::RequestReader;

void CheckRequest(const muster::http::Request& request) {
  static const auto* const rule = new muster::http::HostRule({"node1"});
  static const auto* const token = new muster::http::Token(*muster::http::Token::Of(std::string(32, 't')));
  const std::string& path = request.target.path;
  MUSTER_CHECK(!path.empty() && path.front() == '/', "a path");
  MUSTER_CHECK(!absl::StrContains(path, "/../") && !absl::EndsWith(path, "/.."), "no way up");
  for (const char c : path) MUSTER_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "no control characters");
  MUSTER_CHECK(request.target.query.size() <= muster::http::kMaxParameters, "few parameters");
  if (rule->Takes(request.host)) MUSTER_CHECK(!absl::StrContains(request.host, "evil"), "only our names");
  if (token->Matches(request.authorization)) {
    MUSTER_CHECK(absl::StrContains(request.authorization, std::string(32, 't')), "only the token");
  }
  muster::http::MetricWriter::FormatFor(request.accept);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = data[0] == 0 ? size : data[0];
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  RequestReader reader;
  std::string buffered;
  size_t at = 0;
  while (at < bytes.size() || !buffered.empty()) {
    buffered += bytes.substr(at, step);
    at = std::min(bytes.size(), at + step);
    const size_t before = buffered.size();
    const RequestReader::State state = reader.Read(buffered);
    MUSTER_CHECK(buffered.size() <= before, "bytes are taken, never made");
    if (state == RequestReader::State::kBad) {
      MUSTER_CHECK(reader.error().status >= 400 && !reader.error().text.empty(), "an error says something");
      return 0;
    }
    if (state == RequestReader::State::kWhole) {
      CheckRequest(reader.request());
      reader.Reset();
    } else {
      MUSTER_CHECK(buffered.size() <= muster::http::kMaxHeaderBytes, "what waits is bounded");
      if (at == bytes.size()) return 0;
    }
  }
  return 0;
}
