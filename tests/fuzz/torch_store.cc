// Bytes from hostile processes at PyTorch's store: the requests of three clients, cut in pieces, through the decoder
// and the store. Each piece begins with a byte that gives its client and length; the store is small, so it is soon
// full.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "worker_agent/gateway/torch_store/output.h"
#include "worker_agent/gateway/torch_store/request.h"
#include "worker_agent/gateway/torch_store/store.h"

namespace muster::torch_store {
namespace {

constexpr uint64_t kClients = 3;
constexpr size_t kMaxBytes = size_t{64} << 10;

struct Client {
  RequestDecoder decoder;
  bool is_closed = false;
};

class World {
 public:
  void Feed(uint64_t id, std::string_view bytes) {
    Client& client = clients_[id];
    if (client.is_closed) return;
    client.decoder.Append(bytes);
    while (true) {
      absl::StatusOr<std::optional<Request>> request = client.decoder.Next();
      if (!request.ok()) return Close(id);
      if (!request->has_value()) return;
      Output output;
      if (!store_.Apply(id, client.decoder.dialect(), **std::move(request), output).ok()) return Close(id);
    }
  }

 private:
  void Close(uint64_t id) {
    store_.Forget(id);
    clients_[id].is_closed = true;
  }

  Client clients_[kClients];
  Store store_{
      Limits{.stored_bytes = kMaxBytes, .unread_bytes = kMaxBytes, .input_bytes = kMaxBytes, .wait_bytes = 16 << 10},
      [this](uint64_t id) { MUSTER_CHECK(!clients_[id].is_closed, "a closed connection waits for nothing"); }};
};

}  // namespace
}  // namespace muster::torch_store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::torch_store;
  World world;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const auto head = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    const std::string_view piece = rest.substr(0, 1 + head / kClients);
    rest.remove_prefix(piece.size());
    world.Feed(head % kClients, piece);
  }
  return 0;
}
