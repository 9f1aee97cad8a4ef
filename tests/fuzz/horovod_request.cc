// A process's requests to Horovod's rendezvous, in pieces. The first byte is their size.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "worker_agent/gateway/horovod/request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using muster::horovod::RequestReader;
  if (size == 0) return 0;
  const size_t step = data[0] == 0 ? size : data[0];
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  RequestReader reader;
  RequestReader::State state = RequestReader::State::kNeedsMore;
  while (!bytes.empty()) {
    state = reader.Read(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
    MUSTER_CHECK(reader.buffered() <= muster::horovod::kMaxHeaderBytes + 1 + muster::horovod::kMaxBodyBytes,
                 "what is kept is bounded");
  }
  if (state == RequestReader::State::kBad) MUSTER_CHECK(reader.status() >= 400, "a status says what is wrong");
  if (state != RequestReader::State::kWhole) return 0;
  const auto& request = reader.request();
  for (const std::string& name : {request.scope, request.key}) {
    MUSTER_CHECK(!name.empty() && name.size() <= muster::horovod::kMaxNameBytes, "a name");
    MUSTER_CHECK(name.find('/') == std::string::npos, "no way into another scope");
  }
  return 0;
}
