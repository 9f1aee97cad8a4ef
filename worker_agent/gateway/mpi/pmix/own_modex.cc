#include "worker_agent/gateway/mpi/pmix/own_modex.h"

#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::pmix {
namespace {

// What the own ranks have put, as far as libpmix has told it. Of its thread.
struct Given {
  size_t left = 0;
  std::string bundle;
};

struct Asked {
  Given* given = nullptr;
  uint32_t rank = 0;
};

void OnModex(pmix_status_t status, char* data, size_t size, void* of_asked) {
  const auto* asked = static_cast<Asked*>(of_asked);
  Given& given = *asked->given;
  if (status == PMIX_SUCCESS && data != nullptr) {
    given.bundle += agent::LengthText(asked->rank) + agent::LengthText(size) + std::string(data, size);
  }
  delete asked;
  if (--given.left > 0) return;
  TheOutbox().Send(Kind::kModex, given.bundle);
  delete &given;
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
  auto* given = new Given{ranks.size(), ""};
  for (const uint32_t rank : ranks) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, setup.nspace.c_str(), rank);
    auto* asked = new Asked{given, rank};
    // Refused at once: its part is missing, and nothing is sent. Who asks for it is told so in time.
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
  const std::optional<size_t> rank = agent::TakeLength(bytes);
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
