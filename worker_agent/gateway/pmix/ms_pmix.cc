// ms-pmix: the PMIx server of one agent in one round, for Open MPI's ranks. The agent starts it with one end of a pair
// of sockets as its standard input, and it ends when that is closed. It holds no key and decides nothing: what ranks
// want of other nodes the agent does.
//
// A program of its own since libpmix has threads, signal handlers and plugins of its own, and no static archive that
// works without them. libpmix calls back on its thread, which here only hands over and never waits.
//
// The setup's lines, in this order:
//   nspace=NAME      of the job's round
//   folder=PATH      for everything that libpmix and Open MPI keep while the round lasts
//   memory=PATH      for what ranks share; nothing: there is none
//   own=N            this agent, from 0
//   agent=R,R,…      the ranks of each agent, in slot order; one line each
//
// An agent is a node to PMIx: what ranks share within a node (memory, files) goes through their server. So two agents
// of one machine are two nodes, with TCP between them.
#include <pmix.h>
#include <pmix_server.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "worker_agent/gateway/pmix/frames.h"

namespace muster::pmix {
namespace {

constexpr int kAgent = STDIN_FILENO;

struct Setup {
  std::string nspace;
  std::string folder;
  std::string memory;
  size_t own = 0;
  std::vector<std::vector<uint32_t>> ranks_of;  // by agent

  uint32_t size() const {
    size_t size = 0;
    for (const auto& ranks : ranks_of) size += ranks.size();
    return static_cast<uint32_t>(size);
  }
};

// A fence or another question that libpmix waits for the answer of.
struct Pending {
  pmix_modex_cbfunc_t done = nullptr;
  void* data = nullptr;
};

// What libpmix's thread leaves for the main one.
class Outbox {
 public:
  void Send(Kind kind, const std::string& bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    frames_ += Encode(kind, bytes);
    eventfd_write(wake_, 1);
  }
  // Before it is sent, the fence is known here.
  void SendFence(const std::string& bytes, Pending pending) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fences_.push_back(pending);
    frames_ += Encode(Kind::kFence, bytes);
    eventfd_write(wake_, 1);
  }
  std::string TakeFrames() {
    const std::lock_guard<std::mutex> lock(mutex_);
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
    return std::exchange(frames_, "");
  }
  Pending TakeFence() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (fences_.empty()) return {};
    const Pending first = fences_.front();
    fences_.pop_front();
    return first;
  }
  int wake() const { return wake_; }

 private:
  const int wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::mutex mutex_;
  std::string frames_;
  std::deque<Pending> fences_;
};

Outbox& TheOutbox() {
  static Outbox outbox;
  return outbox;
}

uint32_t& JobSize() {
  static uint32_t size = 0;
  return size;
}

// ---- what libpmix calls, on its own thread

pmix_status_t OnConnected(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  TheOutbox().Send(Kind::kConnected, std::to_string(proc->rank));
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t OnFinalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  TheOutbox().Send(Kind::kFinalized, std::to_string(proc->rank));
  return PMIX_OPERATION_SUCCEEDED;
}

// The agent ends the others.
pmix_status_t OnAbort(const pmix_proc_t* proc, void*, int status, const char message[], pmix_proc_t*, size_t,
                      pmix_op_cbfunc_t, void*) {
  const std::string text = message == nullptr ? "" : std::string(message).substr(0, 1024);
  TheOutbox().Send(Kind::kAborted, std::to_string(proc->rank) + " " + std::to_string(status) + " " + text);
  return PMIX_OPERATION_SUCCEEDED;
}

// All ranks of the job, or none: a fence of some would need a name that the agents know it by.
pmix_status_t OnFence(const pmix_proc_t procs[], size_t count, const pmix_info_t*, size_t, char* data, size_t size,
                      pmix_modex_cbfunc_t done, void* of_done) {
  const bool is_of_all = (count == 1 && procs[0].rank == PMIX_RANK_WILDCARD) || count == JobSize();
  if (!is_of_all) return PMIX_ERR_NOT_SUPPORTED;
  TheOutbox().SendFence(data == nullptr ? "" : std::string(data, size), {done, of_done});
  free(data);
  return PMIX_SUCCESS;
}

// What a rank wants of another one it finds in the fence.
pmix_status_t OnDirectModex(const pmix_proc_t*, const pmix_info_t*, size_t, pmix_modex_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

// ---- the job, as PMIx is told of it

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
  // libpmix's own text, with its own end.
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
  const pmix_status_t status = PMIx_server_register_nspace(setup.nspace.c_str(), static_cast<int>(own_size), job.data(),
                                                           job.size(), nullptr, nullptr);
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED ? nullptr : PMIx_Error_string(status);
}

const char* StartServer(const Setup& setup) {
  static pmix_server_module_t module = {};
  module.client_connected = OnConnected;
  module.client_finalized = OnFinalized;
  module.abort = OnAbort;
  module.fence_nb = OnFence;
  module.direct_modex = OnDirectModex;
  InfoList own;
  own.AddText(PMIX_SERVER_TMPDIR, setup.folder);
  own.AddText(PMIX_HOSTNAME, NodeName(setup.own));
  own.Add(PMIX_NODEID, static_cast<uint32_t>(setup.own), PMIX_UINT32);
  const pmix_status_t status = PMIx_server_init(&module, own.data(), own.size());
  return status == PMIX_SUCCESS ? nullptr : PMIx_Error_string(status);
}

// What each slot's process finds in its environment; empty and `why` if a rank can't be registered.
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

bool ParseSetup(const std::string& text, Setup& setup) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (name == "nspace") setup.nspace = value;
    if (name == "folder") setup.folder = value;
    if (name == "memory") setup.memory = value;
    if (name == "own") setup.own = std::strtoul(value.c_str(), nullptr, 10);
    if (name != "agent") continue;
    std::vector<uint32_t>& ranks = setup.ranks_of.emplace_back();
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, ',');) {
      ranks.push_back(static_cast<uint32_t>(std::strtoul(word.c_str(), nullptr, 10)));
    }
    if (ranks.empty()) return false;
  }
  return !setup.nspace.empty() && setup.nspace.size() < PMIX_MAX_NSLEN && !setup.folder.empty() &&
         setup.own < setup.ranks_of.size();
}

// Of the answer to a fence, which libpmix is done with.
void Release(void* text) { delete static_cast<std::string*>(text); }

class Server {
 public:
  // What is left where the agent was killed.
  void RemoveFolders() const {
    std::error_code ignored;
    for (const std::string& folder : {setup_.folder, setup_.memory}) {
      if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
    }
  }

  // Until the agent has gone; the program's exit code.
  int Run() {
    while (true) {
      output_ += TheOutbox().TakeFrames();
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
    JobSize() = setup.size();
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
    if (fence.done == nullptr) return;
    auto* text = new std::string(bytes);
    fence.done(status, text->data(), text->size(), fence.data, Release, text);
  }

  Setup setup_;
  std::string input_;
  std::string output_;
};

}  // namespace
}  // namespace muster::pmix

int main() {
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
