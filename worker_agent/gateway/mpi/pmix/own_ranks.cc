#include "worker_agent/gateway/mpi/pmix/own_ranks.h"

#include <pmix.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker_agent/gateway/mpi/pmix/outbox.h"

namespace muster::pmix {

namespace {

constexpr size_t kMaxWaiting = 256;

struct AskedName {
  pmix_op_cbfunc_t done = nullptr;
  pmix_lookup_cbfunc_t found = nullptr;  // of a lookup
  void* data = nullptr;
  std::string nspace;
  std::string key;
};

struct WaitingNames {
  std::mutex mutex;
  std::map<size_t, AskedName> by_token;
  size_t last_token = 0;
};

WaitingNames& TheWaitingNames() {
  static WaitingNames waiting;
  return waiting;
}

pmix_status_t AskForName(NameRequest request, AskedName asked) {
  WaitingNames& waiting = TheWaitingNames();
  const std::lock_guard<std::mutex> lock(waiting.mutex);
  if (waiting.by_token.size() >= kMaxWaiting) return PMIX_ERR_OUT_OF_RESOURCE;
  request.token = ++waiting.last_token;
  waiting.by_token.emplace(request.token, std::move(asked));
  TheOutbox().Send(Kind::kName, NameBytes(request));
  return PMIX_SUCCESS;
}

bool IsOne(char** keys) { return keys != nullptr && keys[0] != nullptr && keys[1] == nullptr; }

// Returns true for a key that has a meaning for libpmix. Such keys begin with "pmix.".
bool IsOwnWord(const pmix_info_t& info) { return std::string_view(info.key).substr(0, 5) == "pmix."; }

pmix_status_t StatusOf(NameResult result) {
  switch (result) {
    case NameResult::kDone:
      return PMIX_SUCCESS;
    case NameResult::kNotThere:
      return PMIX_ERR_NOT_FOUND;
    case NameResult::kTaken:
      return PMIX_ERR_DUPLICATE_KEY;
    case NameResult::kFailed:
      break;
  }
  return PMIX_ERROR;
}

// Answers a lookup. `value` has the publishing rank (coded as a length) and the text.
void GiveFound(const AskedName& asked, pmix_status_t status, std::string_view value) {
  const std::optional<size_t> rank = TakeLength(value);
  if (status != PMIX_SUCCESS || !rank) {
    return asked.found(status == PMIX_SUCCESS ? PMIX_ERROR : status, nullptr, 0, asked.data);
  }
  const std::string text(value);
  pmix_pdata_t* found = nullptr;
  PMIX_PDATA_CREATE(found, 1);
  PMIX_LOAD_PROCID(&found->proc, asked.nspace.c_str(), static_cast<pmix_rank_t>(*rank));
  PMIX_LOAD_KEY(found->key, asked.key.c_str());
  PMIX_VALUE_LOAD(&found->value, text.c_str(), PMIX_STRING);
  asked.found(PMIX_SUCCESS, found, 1, asked.data);  // copies `found` before it returns
  PMIX_PDATA_FREE(found, 1);
}

}  // namespace

pmix_status_t PublishName(const pmix_proc_t& who, const pmix_info_t infos[], size_t count, pmix_op_cbfunc_t done,
                          void* of_done) {
  const pmix_info_t* published = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (IsOwnWord(infos[i])) continue;
    if (published != nullptr) return PMIX_ERR_NOT_SUPPORTED;
    published = &infos[i];
  }
  if (published == nullptr || published->value.type != PMIX_STRING || published->value.data.string == nullptr) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  NameRequest request{'P', 0, published->key, LengthText(who.rank) + published->value.data.string};
  return AskForName(std::move(request), {done, nullptr, of_done, "", ""});
}

pmix_status_t LookUpName(const pmix_proc_t& who, char** keys, pmix_lookup_cbfunc_t done, void* of_done) {
  if (!IsOne(keys)) return PMIX_ERR_NOT_SUPPORTED;
  return AskForName({'L', 0, keys[0], ""}, {nullptr, done, of_done, who.nspace, keys[0]});
}

pmix_status_t UnpublishName(char** keys, pmix_op_cbfunc_t done, void* of_done) {
  if (!IsOne(keys)) return PMIX_ERR_NOT_SUPPORTED;
  return AskForName({'U', 0, keys[0], ""}, {done, nullptr, of_done, "", ""});
}

bool AnswerName(const Frame& frame) {
  std::string_view bytes = frame.bytes;
  const std::optional<size_t> token = TakeLength(bytes);
  if (!token || bytes.empty()) return false;
  const auto result = static_cast<NameResult>(bytes[0]);
  bytes.remove_prefix(1);
  AskedName asked;
  {
    WaitingNames& waiting = TheWaitingNames();
    const std::lock_guard<std::mutex> lock(waiting.mutex);
    const auto found = waiting.by_token.find(*token);
    if (found == waiting.by_token.end()) return true;
    asked = std::move(found->second);
    waiting.by_token.erase(found);
  }
  if (asked.found != nullptr) {
    GiveFound(asked, StatusOf(result), bytes);
  } else {
    asked.done(StatusOf(result), asked.data);
  }
  return true;
}

namespace {

// The data of this agent's ranks that libpmix has delivered so far. Only libpmix's thread uses it.
struct Given {
  size_t left = 0;
  std::string bundle;
};

struct Asked {
  std::shared_ptr<Given> given;
  uint32_t rank = 0;
};

void OnModex(pmix_status_t status, char* data, size_t size, void* of_asked) {
  const std::unique_ptr<const Asked> asked(static_cast<const Asked*>(of_asked));
  Given& given = *asked->given;
  if (status == PMIX_SUCCESS && data != nullptr) {
    given.bundle += LengthText(asked->rank) + LengthText(size) + std::string(data, size);
  }
  if (--given.left == 0) TheOutbox().Send(Kind::kModex, given.bundle);
}

struct Waiting {
  std::mutex mutex;
  std::map<uint32_t, std::vector<Pending>> of_rank;
};

Waiting& TheWaiting() {
  static Waiting waiting;
  return waiting;
}

}  // namespace

void GiveModex(const Setup& setup) {
  const std::vector<uint32_t>& ranks = setup.ranks_of[setup.own];
  const auto given = std::make_shared<Given>(Given{ranks.size(), ""});
  for (const uint32_t rank : ranks) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, setup.nspace.c_str(), rank);
    auto* asked = new Asked{given, rank};
    // If libpmix refuses at once, nothing is sent, because the data of one rank are missing. Agents that ask for them
    // get an error when their time is up.
    if (PMIx_server_dmodex_request(&proc, OnModex, asked) != PMIX_SUCCESS) delete asked;
  }
}

void AskModex(uint32_t rank, Pending pending) {
  const std::lock_guard<std::mutex> lock(TheWaiting().mutex);
  std::vector<Pending>& waiting = TheWaiting().of_rank[rank];
  waiting.push_back(pending);
  if (waiting.size() == 1) TheOutbox().Send(Kind::kAsk, std::to_string(rank));
}

bool AnswerModex(const Frame& frame) {
  std::string_view bytes = frame.bytes;
  const std::optional<size_t> rank = TakeLength(bytes);
  if (!rank) return false;
  std::vector<Pending> waiting;
  {
    const std::lock_guard<std::mutex> lock(TheWaiting().mutex);
    const auto found = TheWaiting().of_rank.find(static_cast<uint32_t>(*rank));
    if (found == TheWaiting().of_rank.end()) return true;
    waiting = std::move(found->second);
    TheWaiting().of_rank.erase(found);
  }
  const pmix_status_t status = frame.kind == Kind::kModexOf ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT;
  for (const Pending& pending : waiting) pending.Answer(status, bytes);
  return true;
}

}  // namespace muster::pmix
