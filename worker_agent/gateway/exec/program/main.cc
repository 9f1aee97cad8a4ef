// ms-exec: found as ssh by launchers that start programs on other nodes of their job (client.h), and started by
// ms-worker for the commands that come to its node (holder.h).
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/base/version.h"
#include "worker_agent/gateway/exec/program/client.h"
#include "worker_agent/gateway/exec/program/holder.h"
#include "worker_agent/gateway/exec/program/ssh_words.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "--serve") {
    const char* const control = std::getenv(muster::exec::kHolderVariable);
    int number = -1;
    if (control == nullptr || !absl::SimpleAtoi(control, &number)) {
      std::fputs("ms-exec: --serve is for ms-worker, which starts it\n", stderr);
      return 2;
    }
    ::unsetenv(muster::exec::kHolderVariable);
    return muster::exec::RunHolder(number);
  }
  const absl::StatusOr<muster::exec::SshWords> parsed = muster::exec::ParseSshWords(words);
  if (!parsed.ok()) {
    std::fprintf(stderr, "ms-exec: %s\n", std::string(parsed.status().message()).c_str());
    return 255;
  }
  if (parsed->asks_version) {
    std::fprintf(stderr, "ms-exec of Muster %s, which stands for ssh\n", muster::kVersion);
    return 0;
  }
  for (int fd = 0; fd <= STDERR_FILENO;) fd = ::open("/dev/null", O_RDWR);  // or a socket would pass for one of them
  const std::string name = argc > 0 ? argv[0] : "";
  const bool stands_for_ssh = name.substr(name.rfind('/') + 1) == "ssh";
  return muster::exec::RunClient(*parsed, stands_for_ssh ? argv : nullptr);
}
