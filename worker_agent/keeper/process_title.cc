#include "worker_agent/keeper/process_title.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace muster::agent {

void SetProcessTitle(std::string_view title) {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream fields(text.substr(name_end + 1));
  std::string word;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  // proc(5): 48 and 49 are where the arguments begin and end; field 3 is the first one here.
  for (int field = 3; field <= 49 && fields >> word; ++field) {
    if (field == 48) begin = static_cast<uintptr_t>(std::stoull(word));
    if (field == 49) end = static_cast<uintptr_t>(std::stoull(word));
  }
  if (begin == 0 || end <= begin + 1) return;
  // The last byte stays 0, else the kernel would go on into the environment.
  const size_t room = end - begin - 1;
  const size_t length = std::min(title.size(), room);
  char* const arguments = reinterpret_cast<char*>(begin);  // NOLINT(performance-no-int-to-ptr): the kernel tells it so
  std::memset(arguments, 0, room + 1);
  std::memcpy(arguments, title.data(), length);
}

}  // namespace muster::agent
