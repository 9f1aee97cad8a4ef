// Requests of PyTorch's TCPStore, as its clients write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker_agent/gateway/torch_store/request.h"
#include "worker_agent/gateway/torch_store/store.h"

namespace muster::torch_store {

inline const std::string kStop(1, kStopWaiting);

template <typename Number>
std::string Bytes(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}
inline std::string Text(const std::string& text) { return Bytes<uint64_t>(text.size()) + text; }
inline std::string Texts(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += Text(text);
  return all;
}
inline std::string Counted(const std::vector<std::string>& texts) {
  return Bytes<uint64_t>(texts.size()) + Texts(texts);
}
inline std::string Ask(Query query, const std::string& fields) { return Bytes(static_cast<uint8_t>(query)) + fields; }
inline std::string Hello() { return Ask(Query::kValidate, Bytes<uint32_t>(0x3C85F7CE)); }

}  // namespace muster::torch_store
