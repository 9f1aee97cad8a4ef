// tls_storm CONFIG PORT COUNT THREADS: that many honest agents connect over mutual TLS and join, each on a connection
// of its own, THREADS of them at a time. Prints "joined N failed N seconds S" and the first failures, and keeps the
// connections open until its standard input ends. Ends with 1 if any join failed.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/tls/grpc/credentials.h"
#include "muster/v1/rendezvous.grpc.pb.h"

namespace muster {
namespace {

struct Agent {
  grpc::ClientContext context;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::SchedulerMessage>> stream;
};

// Returns the error; empty: it was welcomed.
std::string Join(Agent& agent, const std::shared_ptr<const TlsStore>& tls, const std::string& port, uint32_t number,
                 uint32_t count) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 120'000);  // how long one connect may take
  agent.channel = grpc::CreateCustomChannel(
      absl::StrCat("ipv4:127.0.0.1:", port),
      MakeClientCredentials(tls, "127.0.0.1", "", std::make_shared<HandshakeResult>()), arguments);
  agent.context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
  agent.stream = v1::Rendezvous::NewStub(agent.channel)->Session(&agent.context);
  v1::AgentMessage message;
  v1::Join& join = *message.mutable_join();
  join.set_protocol_version(kProtocolVersion);
  join.set_job_id("storm");
  join.set_node_id(absl::StrCat("n", number));
  join.set_incarnation(number + 1);
  join.set_connect_seq(1);
  join.mutable_settings()->set_worker_num(count + 1);  // so that the job never forms
  join.mutable_node()->set_role(v1::ROLE_WORKER);
  join.mutable_node()->set_host_name("storm");
  join.mutable_node()->set_machine_id("storm");
  join.mutable_node()->add_slots();
  v1::SchedulerMessage reply;
  if (agent.stream->Write(message) && agent.stream->Read(&reply) && reply.has_welcome()) return "";
  if (reply.has_refusal()) return reply.refusal().text();
  agent.context.TryCancel();
  return agent.stream->Finish().error_message();
}

int Run(const std::string& config, const std::string& port, uint32_t count, uint32_t threads) {
  CountedLog counted(Clock::System());
  TlsSettings settings;
  settings.config = config;
  auto store = TlsStore::Open({TlsRole::kClient, settings, {}}, Clock::System(), counted);
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", std::string(store.status().message()).c_str());
    return 2;
  }
  const std::shared_ptr<const TlsStore> tls(*std::move(store));
  std::vector<Agent> agents(count);
  std::atomic<uint32_t> next = 0, failed = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;
  for (uint32_t i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (uint32_t number = next++; number < count; number = next++) {
        const std::string error = Join(agents[number], tls, port, number, count);
        if (!error.empty() && ++failed <= 5) std::fprintf(stderr, "n%u: %s\n", number, error.c_str());
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("joined %u failed %u seconds %.1f\n", count - failed, failed.load(), took.count());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  std::_Exit(failed == 0 ? 0 : 1);  // an orderly end of thousands of open streams would gain nothing
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  return muster::Run(argv[1], argv[2], static_cast<uint32_t>(std::atoi(argv[3])),
                     static_cast<uint32_t>(std::atoi(argv[4])));
}
