// Bytes from a hostile agent on its link to PyTorch's store: the hello, then records with frames, cut in pieces, up to
// the clients and the store.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "worker_agent/gateway/torch_store/relay/hello.h"
#include "worker_agent/gateway/torch_store/relay/links.h"

namespace muster::torch_store {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 10;

void Play(std::string_view bytes) {
  TcpServerContext context;
  context.touch = [](uint64_t) {};
  context.counted = std::make_shared<CountedLog>(Clock::System());
  const Limits limits{
      .stored_bytes = kMaxBytes, .unread_bytes = kMaxBytes, .input_bytes = kMaxBytes, .wait_bytes = 16 << 10};
  Shared shared{limits, Store(limits, [&shared](uint64_t client) { shared.clients.at(client)->StopWaiting(); })};
  LinksOptions options;
  options.why_not = [](const LinkHello&, const TcpClient&) { return std::string(); };
  options.max_clients = 8;
  Links links(std::move(options), shared);
  const absl::StatusOr<std::optional<LinkHello>> hello = TakeHello(bytes);
  if (!hello.ok() || !hello->has_value()) return;
  TcpClient client;
  client.connection = 1;
  const absl::StatusOr<std::shared_ptr<Session>> session = links.Attach(**hello, client, context);
  if (!session.ok() || *session == nullptr) return;
  std::string out;
  while (!bytes.empty()) {
    const size_t size = std::min<size_t>(bytes.size(), 1 + static_cast<uint8_t>(bytes.front()));
    if (!(*session)->Receive(bytes.substr(0, size)).ok()) break;
    for (int i = 0; i < 1000 && (*session)->ServeClients(); ++i) {
    }
    out.clear();
    (*session)->stream().Fill(out, 1 << 20);
    MUSTER_CHECK(shared.clients.size() <= 8, "clients have a limit");
    bytes.remove_prefix(size);
  }
  links.EndAll();
}

}  // namespace
}  // namespace muster::torch_store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::torch_store::Play({reinterpret_cast<const char*>(data), size});
  return 0;
}
