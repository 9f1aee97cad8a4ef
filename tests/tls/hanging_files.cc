// Preloaded into a program, this makes each look at one file hang for as long as another file exists, as if it were on
// a network file system with a dead server.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using Open = int (*)(const char*, int, ...);
using Stat = int (*)(const char*, struct stat*);

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// MUSTER_TEST_FILE: the end of the file's path. MUSTER_TEST_HANGS: a file; calls hang while it exists.
// MUSTER_TEST_CALL: the only call that hangs, open or stat; unset: both. A call that hangs makes a file with .reached
// added to the name of the second file.
void MayHang(const char* call, const char* path) {
  const char* file = getenv("MUSTER_TEST_FILE");
  const char* hangs = getenv("MUSTER_TEST_HANGS");
  const char* only = getenv("MUSTER_TEST_CALL");
  if (only != nullptr && std::strcmp(only, call) != 0) return;
  if (file == nullptr || hangs == nullptr || path == nullptr || std::strlen(path) < std::strlen(file)) return;
  if (std::strcmp(path + std::strlen(path) - std::strlen(file), file) != 0) return;
  if (access(hangs, F_OK) != 0) return;
  const std::string reached = std::string(hangs) + ".reached";
  close(Next<Open>("open")(reached.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  while (access(hangs, F_OK) == 0) usleep(20'000);
}

int DoOpen(const char* name, const char* path, int flags, mode_t mode) {
  MayHang("open", path);
  return Next<Open>(name)(path, flags, mode);
}

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return DoOpen("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return DoOpen("open64", path, flags, mode);
}

int stat(const char* path, struct stat* info) {
  MayHang("stat", path);
  return Next<Stat>("stat")(path, info);
}

}  // extern "C"
