// floor_server: shows what gRPC itself costs, to compare with ms-scheduler. It is the smallest asynchronous server: a
// completion queue and a thread for each core, generic calls, no parsing, no state. It uses ms-scheduler's own acceptor
// and messages of the same sizes. Over TLS it does nothing beyond gRPC's own check of the certificate chain.
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/floor/call.h"
#include "common/base/exit_codes.h"
#include "common/base/mutex.h"
#include "common/base/mutex_checks.h"
#include "common/settings/settings.h"
#include "common/sys/room.h"
#include "common/tls/tls_store.h"
#include "scheduler/ingress/acceptor.h"
#include "scheduler/ingress/listener.h"

namespace muster::bench {
namespace {

constexpr int kAwaited = 128;           // calls that each queue is ready for
constexpr size_t kPendingPlain = 64;    // as ms-scheduler's acceptor, for each core
constexpr size_t kPendingWithTls = 16;  // the same
constexpr int kHandshakeLimitMs = 10'000;
constexpr size_t kReservedDescriptors = 64;
constexpr size_t kNoLimit = 1 << 20;

struct FloorSettings {
  uint16_t port = 0;
  uint32_t slots = 8;
  uint32_t threads = std::max(1u, std::thread::hardware_concurrency());
  bool watches_locks = true;
  TlsSettings tls;
};

SettingsTable Table(FloorSettings& settings) {
  SettingsTable table("floor_server", "floor_server [settings]", "An empty gRPC server, to measure others against.");
  table.BeginGroup("The floor");
  table.AddPort("port", &settings.port, "Where to listen on 127.0.0.1; 0: a free one, printed as \"port N\".")
      .Value("PORT");
  table.AddUint("slots", &settings.slots, 1, 1024, "Of how many slots an assignment tells.").Value("N");
  table.AddUint("threads", &settings.threads, 1, 64, "Completion queues, each with a thread.").Value("N");
  table.AddBool("watches_locks", &settings.watches_locks,
                "Abseil's debugging checks, as Debian's gRPC has them; ms-scheduler switches them off.");
  AddTls(table, &settings.tls);
  return table;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(const TlsSettings& settings,
                                                                         CountedLog& counted) {
  if (!settings.is_on()) return grpc::InsecureServerCredentials();
  std::map<std::string, std::string> environment = ProcessEnvironment();
  const auto store = TlsStore::Open({TlsRole::kServer, settings, PasswordFrom(environment, TlsRole::kServer)},
                                    Clock::System(), counted);
  if (!store.ok()) return store.status();
  const std::shared_ptr<const TlsState> state = (*store)->Current();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = state->AuthoritiesPem();
  options.pem_key_cert_pairs.push_back({std::string(state->identity->key_pem.text()), state->identity->ChainPem()});
  return grpc::SslServerCredentials(options);
}

void Drain(grpc::ServerCompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
    const Call::Tag came = *static_cast<Call::Tag*>(tag);
    came.call->On(came.op, ok);
  }
}

int Serve(const FloorSettings& settings) {
  CountedLog counted(Clock::System());
  const auto credentials = MakeCredentials(settings.tls, counted);
  if (!credentials.ok()) {
    std::fprintf(stderr, "floor_server: %s\n", std::string(credentials.status().message()).c_str());
    return kExitSecurity;
  }
  RaiseDescriptorLimit();
  const size_t descriptors = DescriptorLimit();
  scheduler::BindPlan plan;
  plan.addresses = {*IpAddress::Parse("127.0.0.1")};
  auto listeners = scheduler::OpenTcpListeners(plan, settings.port);
  if (!listeners.ok()) {
    std::fprintf(stderr, "floor_server: %s\n", std::string(listeners.status().message()).c_str());
    return kExitUsage;
  }
  const uint16_t port = listeners->front().port;

  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeLimitMs);
  builder.RegisterAsyncGenericService(&service);
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  for (uint32_t i = 0; i < settings.threads; ++i) queues.push_back(builder.AddCompletionQueue());
  const auto tcp = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, *credentials);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::fprintf(stderr, "floor_server: gRPC could not start its server\n");
    return kExitUsage;
  }

  scheduler::Acceptor::Options options;
  options.table.limit =
      (settings.tls.is_on() ? kPendingWithTls : kPendingPlain) * std::max(1u, std::thread::hardware_concurrency());
  options.table.silence_limit = absl::Milliseconds(kHandshakeLimitMs);
  options.table.call_limit = absl::Milliseconds(kHandshakeLimitMs + 1'000);
  options.unjoined.limit = kNoLimit;
  options.unjoined.calm_limit = absl::Hours(24);
  options.expects_tls = settings.tls.is_on();
  options.descriptor_bound = descriptors - kReservedDescriptors;
  // Here gRPC has the clients' own sockets, without a relay, so it knows their addresses.
  Mutex mutex;
  std::map<std::string, uint64_t> numbers;
  scheduler::Acceptor acceptor(*std::move(listeners), options,
                               {.hand_over =
                                    [&](const scheduler::NamedConnection& one, UniqueFd fd) {
                                      {
                                        MutexLock lock(mutex);
                                        numbers["ipv4:" + one.peer] = one.id;
                                      }
                                      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters given;
                                      given.fd = fd.release();
                                      tcp->HandleNewConnection(&given);
                                    },
                                .hand_over_unix = [](const UniqueFd&) {},
                                .cut = [](uint64_t) {}},
                               Clock::System(), counted);
  const Canned canned = MakeCanned(settings.slots, settings.tls.is_on());
  const Floor floor{service, canned, [&](const std::string& peer) {
                      uint64_t number = 0;
                      {
                        MutexLock lock(mutex);
                        if (const auto found = numbers.find(peer); found != numbers.end()) number = found->second;
                      }
                      acceptor.NoteCall(number);
                      acceptor.NoteJoined(number);
                    }};
  for (const auto& queue : queues) {
    for (int i = 0; i < kAwaited; ++i) Call::Await(floor, *queue);
    std::thread([&queue] { Drain(*queue); }).detach();
  }
  if (const absl::Status started = acceptor.Start(); !started.ok()) {
    std::fprintf(stderr, "floor_server: %s\n", std::string(started.message()).c_str());
    return kExitUsage;
  }
  std::printf("port %u\n", port);
  std::fflush(stdout);

  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  int signal = 0;
  sigwait(&ends, &signal);
  std::_Exit(kExitSuccess);  // an orderly end would gain nothing here
}

int Main(const std::vector<std::string>& args) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before any thread exists
  FloorSettings settings;
  SettingsTable table = Table(settings);
  const LoadResult loaded = LoadSettings(table, args, {});
  if (loaded.wants_help) return std::fputs(HelpText(table).c_str(), stdout) < 0 ? kExitUsage : kExitSuccess;
  for (const std::string& error : loaded.findings.errors) std::fprintf(stderr, "floor_server: %s\n", error.c_str());
  if (!loaded.findings.errors.empty()) return kExitUsage;
  if (!settings.watches_locks) StopWatchingMutexOrder();
  return Serve(settings);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) { return muster::bench::Main(std::vector<std::string>(argv + 1, argv + argc)); }
