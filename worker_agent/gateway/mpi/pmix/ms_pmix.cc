// ms-pmix: the PMIx server of one agent in one round, for Open MPI's ranks. The agent starts it with one end of a pair
// of sockets as its standard input. It ends when the agent closes the other end. It keeps no data of its own and
// decides nothing: the agent handles the ranks' requests to other nodes.
//
// It is a separate program because libpmix has its own threads, signal handlers and plugins, and no static archive that
// works without them. libpmix calls ms-pmix's callbacks on its own thread. They only queue messages, and never wait.
#include <pmix.h>
#include <pmix_server.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker_agent/gateway/mpi/pmix/frames.h"
#include "worker_agent/gateway/mpi/pmix/outbox.h"
#include "worker_agent/gateway/mpi/pmix/own_ranks.h"
#include "worker_agent/gateway/mpi/pmix/setup.h"

namespace muster::pmix {
namespace {

// The callbacks that libpmix calls, on its own thread. They send everything to the agent, through the outbox.

uint32_t& JobSize() {
  static uint32_t size = 0;
  return size;
}

pmix_status_t OnConnected(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  TheOutbox().Send(Kind::kConnected, std::to_string(proc->rank));
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t OnFinalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  TheOutbox().Send(Kind::kFinalized, std::to_string(proc->rank));
  return PMIX_OPERATION_SUCCEEDED;
}

// The agent ends the other ranks.
pmix_status_t OnAbort(const pmix_proc_t* proc, void*, int status, const char message[], pmix_proc_t*, size_t,
                      pmix_op_cbfunc_t, void*) {
  const std::string text = message == nullptr ? "" : std::string(message).substr(0, 1024);
  TheOutbox().Send(Kind::kAborted, std::to_string(proc->rank) + " " + std::to_string(status) + " " + text);
  return PMIX_OPERATION_SUCCEEDED;
}

bool Collects(const pmix_info_t infos[], size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_COLLECT_DATA)) return PMIX_INFO_TRUE(&infos[i]);
  }
  return false;
}

// Serves only fences of all the job's ranks. A fence of some ranks would need a name on which the agents agree.
pmix_status_t OnFence(const pmix_proc_t procs[], size_t count, const pmix_info_t infos[], size_t info_count, char* data,
                      size_t size, pmix_modex_cbfunc_t done, void* of_done) {
  const bool is_of_all = (count == 1 && procs[0].rank == PMIX_RANK_WILDCARD) || count == JobSize();
  if (!is_of_all) return PMIX_ERR_NOT_SUPPORTED;
  TheOutbox().SendFence(data == nullptr ? "" : std::string(data, size), {done, of_done}, Collects(infos, info_count));
  free(data);
  return PMIX_SUCCESS;
}

pmix_status_t OnDirectModex(const pmix_proc_t* proc, const pmix_info_t*, size_t, pmix_modex_cbfunc_t done,
                            void* of_done) {
  AskModex(proc->rank, {done, of_done});
  return PMIX_SUCCESS;
}

pmix_status_t OnPublish(const pmix_proc_t* proc, const pmix_info_t infos[], size_t count, pmix_op_cbfunc_t done,
                        void* of_done) {
  return PublishName(*proc, infos, count, done, of_done);
}

pmix_status_t OnLookup(const pmix_proc_t* proc, char** keys, const pmix_info_t[], size_t, pmix_lookup_cbfunc_t done,
                       void* of_done) {
  return LookUpName(*proc, keys, done, of_done);
}

pmix_status_t OnUnpublish(const pmix_proc_t*, char** keys, const pmix_info_t[], size_t, pmix_op_cbfunc_t done,
                          void* of_done) {
  return UnpublishName(keys, done, of_done);
}

pmix_server_module_t* CallbacksOf(uint32_t job_size) {
  static pmix_server_module_t module = {};
  JobSize() = job_size;
  module.client_connected = OnConnected;
  module.client_finalized = OnFinalized;
  module.abort = OnAbort;
  module.fence_nb = OnFence;
  module.direct_modex = OnDirectModex;
  module.publish = OnPublish;
  module.lookup = OnLookup;
  module.unpublish = OnUnpublish;
  return &module;
}

// The description of the round that libpmix gets.
//
// To PMIx an agent is a node, because the ranks of a node share memory and files through one server. So two agents of
// one machine are two nodes, with TCP between them.

class InfoList {
 public:
  template <typename T>
  void Add(const char* key, const T& value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, &value, type);
    infos_.push_back(info);
  }
  void AddText(const char* key, const std::string& value, pmix_data_type_t type = PMIX_STRING) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, const_cast<char*>(value.c_str()), type);
    infos_.push_back(info);
  }
  // Adds a text that libpmix made, in its own format.
  void AddRegex(const char* key, char* regex) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, regex, PMIX_REGEX);
    infos_.push_back(info);
  }
  void AddArray(const char* key, InfoList& list) {
    pmix_data_array_t array;
    array.type = PMIX_INFO;
    array.size = list.infos_.size();
    array.array = list.infos_.data();
    Add(key, array, PMIX_DATA_ARRAY);
  }
  pmix_info_t* data() { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  std::vector<pmix_info_t> infos_;  // this process is short-lived: nothing is freed
};

std::string NodeName(size_t agent) { return "node" + std::to_string(agent); }

std::string Joined(const std::vector<uint32_t>& ranks) {
  std::string text;
  for (const uint32_t rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
  return text;
}

void AddRank(const Setup& setup, size_t agent, size_t slot, InfoList& job) {
  const pmix_rank_t rank = setup.ranks_of[agent][slot];
  InfoList list;
  list.Add(PMIX_RANK, rank, PMIX_PROC_RANK);
  list.Add(PMIX_APPNUM, uint32_t{0}, PMIX_UINT32);
  list.Add(PMIX_GLOBAL_RANK, rank, PMIX_PROC_RANK);
  list.Add(PMIX_APP_RANK, rank, PMIX_PROC_RANK);
  list.Add(PMIX_LOCAL_RANK, static_cast<uint16_t>(slot), PMIX_UINT16);
  list.Add(PMIX_NODE_RANK, static_cast<uint16_t>(slot), PMIX_UINT16);
  list.Add(PMIX_NODEID, static_cast<uint32_t>(agent), PMIX_UINT32);
  list.AddText(PMIX_HOSTNAME, NodeName(agent));
  if (agent == setup.own) list.AddText(PMIX_PROCDIR, setup.folder + "/job/" + std::to_string(rank));
  job.AddArray(PMIX_PROC_DATA, list);
}

const char* StartServer(const Setup& setup) {
  InfoList own;
  own.AddText(PMIX_SERVER_TMPDIR, setup.folder);
  own.AddText(PMIX_HOSTNAME, NodeName(setup.own));
  own.Add(PMIX_NODEID, static_cast<uint32_t>(setup.own), PMIX_UINT32);
  // The ranks get this machine's topology from the server. Otherwise each rank would search all devices itself.
  own.Add(PMIX_SERVER_SHARE_TOPOLOGY, true, PMIX_BOOL);
  const pmix_status_t status = PMIx_server_init(CallbacksOf(setup.size()), own.data(), own.size());
  return status == PMIX_SUCCESS ? nullptr : PMIx_Error_string(status);
}

const char* RegisterJob(const Setup& setup) {
  std::string nodes;
  std::string ranks;
  for (size_t agent = 0; agent < setup.ranks_of.size(); ++agent) {
    nodes += (agent == 0 ? "" : ",") + NodeName(agent);
    ranks += (agent == 0 ? "" : ";") + Joined(setup.ranks_of[agent]);
  }
  char* node_map = nullptr;
  char* rank_map = nullptr;
  if (PMIx_generate_regex(nodes.c_str(), &node_map) != PMIX_SUCCESS) return "PMIx_generate_regex";
  if (PMIx_generate_ppn(ranks.c_str(), &rank_map) != PMIX_SUCCESS) return "PMIx_generate_ppn";
  const std::vector<uint32_t>& own = setup.ranks_of[setup.own];
  const auto own_size = static_cast<uint32_t>(own.size());
  InfoList job;
  job.AddRegex(PMIX_NODE_MAP, node_map);
  job.AddRegex(PMIX_PROC_MAP, rank_map);
  job.AddText(PMIX_JOBID, setup.nspace);
  job.Add(PMIX_JOB_SIZE, setup.size(), PMIX_UINT32);
  job.Add(PMIX_UNIV_SIZE, setup.size(), PMIX_UINT32);
  job.Add(PMIX_MAX_PROCS, setup.size(), PMIX_UINT32);
  job.Add(PMIX_JOB_NUM_APPS, uint32_t{1}, PMIX_UINT32);
  job.Add(PMIX_NUM_NODES, static_cast<uint32_t>(setup.ranks_of.size()), PMIX_UINT32);
  job.Add(PMIX_LOCAL_SIZE, own_size, PMIX_UINT32);
  job.Add(PMIX_NODE_SIZE, own_size, PMIX_UINT32);
  job.AddText(PMIX_LOCAL_PEERS, Joined(own));
  job.Add(PMIX_LOCALLDR, pmix_rank_t{*std::min_element(own.begin(), own.end())}, PMIX_PROC_RANK);
  job.AddText(PMIX_TMPDIR, setup.folder);
  job.AddText(PMIX_NSDIR, setup.folder + "/job");
  job.Add(PMIX_TDIR_RMCLEAN, true, PMIX_BOOL);
  for (size_t agent = 0; agent < setup.ranks_of.size(); ++agent) {
    for (size_t slot = 0; slot < setup.ranks_of[agent].size(); ++slot) AddRank(setup, agent, slot, job);
  }
  // Without a callback the call blocks, and may return PMIX_OPERATION_SUCCEEDED for success.
  const pmix_status_t status = PMIx_server_register_nspace(setup.nspace.c_str(), static_cast<int>(own_size), job.data(),
                                                           job.size(), nullptr, nullptr);
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED ? nullptr : PMIx_Error_string(status);
}

std::string Environments(const Setup& setup, std::string& why) {
  std::string all;
  for (const uint32_t rank : setup.ranks_of[setup.own]) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, setup.nspace.c_str(), rank);
    pmix_status_t status = PMIx_server_register_client(&proc, getuid(), getgid(), nullptr, nullptr, nullptr);
    char** variables = nullptr;
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
      status = PMIx_server_setup_fork(&proc, &variables);
    if (status != PMIX_SUCCESS) {
      why = PMIx_Error_string(status);
      return "";
    }
    for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
      all.append(*variable).push_back('\0');
    }
    all.push_back('\0');
  }
  return all;
}

constexpr int kAgent = STDIN_FILENO;

class Server {
 public:
  // Removes the folders that may be left if the agent was killed.
  void RemoveFolders() const {
    std::error_code ignored;
    for (const std::string& folder : {setup_.folder, setup_.memory}) {
      if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
    }
  }

  // Runs until the agent has gone. Returns the program's exit code.
  int Run() {
    while (true) {
      output_ += TheOutbox().TakeFrames();
      if (TheOutbox().TakeModexWanted()) GiveModex(setup_);
      if (!output_.empty() && !Write()) return 0;
      pollfd fds[] = {{kAgent, static_cast<short>(output_.empty() ? POLLIN : POLLIN | POLLOUT), 0},
                      {TheOutbox().wake(), POLLIN, 0}};
      if (poll(fds, 2, -1) < 0 && errno != EINTR) return 1;
      if ((fds[0].revents & ~POLLOUT) != 0 && !Read()) return 0;
    }
  }

 private:
  bool Write() {
    const ssize_t sent = send(kAgent, output_.data(), output_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    output_.erase(0, static_cast<size_t>(sent));
    return true;
  }

  bool Read() {
    std::vector<char> bytes(1 << 16);
    const ssize_t size = recv(kAgent, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    input_.append(bytes.data(), static_cast<size_t>(size));
    bool is_broken = false;
    while (const std::optional<Frame> frame = TakeFrame(input_, is_broken)) {
      if (!Take(*frame)) return false;
    }
    return !is_broken;
  }

  bool Take(const Frame& frame) {
    switch (frame.kind) {
      case Kind::kSetup:
        return Begin(frame.bytes);
      case Kind::kGathered:
        Answer(PMIX_SUCCESS, frame.bytes);
        return true;
      case Kind::kFenceFailed:
        Answer(PMIX_ERR_TIMEOUT, "");
        return true;
      case Kind::kModexOf:
      case Kind::kModexFailed:
        return AnswerModex(frame);
      case Kind::kNamed:
        return AnswerName(frame);
      case Kind::kPing:
        TheOutbox().Send(Kind::kPong, "");
        return true;
      default:
        return false;
    }
  }

  bool Begin(const std::string& text) {
    Setup& setup = setup_;
    std::string why;
    if (!ParseSetup(text, setup)) why = "its setup is damaged";
    if (why.empty()) {
      if (const char* error = StartServer(setup)) why = std::string("PMIx_server_init: ") + error;
    }
    if (why.empty()) {
      if (const char* error = RegisterJob(setup)) why = std::string("registering the job: ") + error;
    }
    const std::string environments = why.empty() ? Environments(setup, why) : "";
    TheOutbox().Send(why.empty() ? Kind::kReady : Kind::kFailed, why.empty() ? environments : why);
    return true;
  }

  static void Answer(pmix_status_t status, const std::string& bytes) {
    const Pending fence = TheOutbox().TakeFence();
    if (fence.done != nullptr) fence.Answer(status, bytes);
  }

  Setup setup_;
  std::string input_;
  std::string output_;
};

}  // namespace
}  // namespace muster::pmix

int main() {
  // The agent passes a socket. A terminal, a pipe or a file means that a person or a script started this program.
  struct ucred ignored {};
  socklen_t size = sizeof ignored;
  if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &ignored, &size) != 0) {
    std::fprintf(stderr, "ms-pmix is started by ms-worker, for the ranks of Open MPI (--mpi pmix)\n");
    return 2;
  }
  muster::pmix::Server server;
  const int code = server.Run();
  PMIx_server_finalize();
  server.RemoveFolders();
  std::_Exit(code);  // nothing is left to do, and libpmix's threads may still run
}
