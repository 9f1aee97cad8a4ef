#include "worker_agent/gateway/mpi/pmix/job.h"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "worker_agent/gateway/mpi/pmix/callbacks.h"

namespace muster::pmix {
namespace {

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

}  // namespace

const char* StartServer(const Setup& setup) {
  InfoList own;
  own.AddText(PMIX_SERVER_TMPDIR, setup.folder);
  own.AddText(PMIX_HOSTNAME, NodeName(setup.own));
  own.Add(PMIX_NODEID, static_cast<uint32_t>(setup.own), PMIX_UINT32);
  // Ranks take this machine's topology from here, where each would look at all devices itself.
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

}  // namespace muster::pmix
