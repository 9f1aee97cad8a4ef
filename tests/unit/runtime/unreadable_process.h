// An orphan with a /proc/<pid>/environ that hangs all readers: it hangs in the kernel with its memory map locked.
//
// It maps a file on FUSE that is opened for direct I/O. The kernel then drops the file's cached pages with the map
// locked, and waits for a page that another process is just reading. That read gets no answer, so the wait has no end.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

class UnreadableProcess {
 public:
  // `mount_point` is created.
  explicit UnreadableProcess(const std::string& mount_point) : mount_point_(mount_point) {
    std::filesystem::create_directories(mount_point);
    UniqueFd connection(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!connection.is_open()) return;
    const std::string options = absl::StrCat("fd=", connection.get(), ",rootmode=40000,user_id=0,group_id=0");
    if (mount("unreadable", mount_point.c_str(), "fuse", 0, options.c_str()) != 0) return;
    is_mounted_ = true;
    int is_read[2];
    int pid_pipe[2];
    if (pipe2(is_read, O_CLOEXEC) != 0 || pipe2(pid_pipe, O_CLOEXEC) != 0) return;
    server_ = fork();
    if (server_ == 0) Serve(connection.get(), is_read[1]);
    connection.reset();
    close(is_read[1]);
    reader_ = fork();
    if (reader_ == 0) ReadPage(mount_point);
    char byte = 0;
    const bool is_page_locked = read(is_read[0], &byte, 1) == 1;
    close(is_read[0]);
    const pid_t parent = is_page_locked ? fork() : -1;
    if (parent == 0) {
      if (fork() == 0) Hang(mount_point, pid_pipe[1]);
      _exit(0);
    }
    if (parent > 0) waitpid(parent, nullptr, 0);
    close(pid_pipe[1]);
    if (read(pid_pipe[0], &pid_, sizeof(pid_)) != sizeof(pid_) || !WaitUntilItHangs(pid_)) pid_ = 0;
    close(pid_pipe[0]);
  }
  // Readers that hang there get an error.
  ~UnreadableProcess() {
    if (server_ > 0) kill(server_, SIGKILL), waitpid(server_, nullptr, 0);
    if (reader_ > 0) waitpid(reader_, nullptr, 0);
    if (is_mounted_) umount2(mount_point_.c_str(), MNT_DETACH);
  }
  UnreadableProcess(const UnreadableProcess&) = delete;
  UnreadableProcess& operator=(const UnreadableProcess&) = delete;

  // 0 without root or FUSE.
  pid_t pid() const { return pid_; }

 private:
  static constexpr size_t kPage = 4096;

  template <typename Body>
  static void Answer(int connection, uint64_t unique, const Body& body) {
    char bytes[sizeof(fuse_out_header) + sizeof(Body)];
    const fuse_out_header header{sizeof(bytes), 0, unique};
    std::memcpy(bytes, &header, sizeof(header));
    std::memcpy(bytes + sizeof(header), &body, sizeof(body));
    if (write(connection, bytes, sizeof(bytes)) < 0) _exit(1);
  }

  static fuse_attr Attributes(uint64_t node) {
    fuse_attr attributes{};
    attributes.ino = node;
    attributes.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
    attributes.size = kPage;
    attributes.nlink = 1;
    return attributes;
  }

  // Answers all requests that lead to the file, but no read of it.
  [[noreturn]] static void Serve(int connection, int is_read) {
    int opened = 0;
    static char request[1 << 17];
    while (true) {
      const ssize_t n = read(connection, request, sizeof(request));
      if (n < 0 && (errno == EINTR || errno == ENOENT)) continue;
      if (n < static_cast<ssize_t>(sizeof(fuse_in_header))) _exit(0);
      fuse_in_header header;
      std::memcpy(&header, request, sizeof(header));
      switch (header.opcode) {
        case FUSE_INIT: {
          fuse_init_out out{};
          out.major = 7;
          out.minor = 31;
          out.max_write = kPage;
          Answer(connection, header.unique, out);
          break;
        }
        case FUSE_LOOKUP: {
          fuse_entry_out out{};
          out.nodeid = 2;
          out.entry_valid = out.attr_valid = 1000;
          out.attr = Attributes(2);
          Answer(connection, header.unique, out);
          break;
        }
        case FUSE_GETATTR: {
          fuse_attr_out out{};
          out.attr_valid = 1000;
          out.attr = Attributes(header.nodeid);
          Answer(connection, header.unique, out);
          break;
        }
        case FUSE_OPEN: {
          fuse_open_out out{};
          if (opened++ > 0) out.open_flags = FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE;
          Answer(connection, header.unique, out);
          break;
        }
        case FUSE_READ:
          if (write(is_read, "x", 1) != 1) _exit(1);
          break;  // no answer
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
          break;  // no answer
        default: {
          const fuse_out_header header_only{sizeof(fuse_out_header), -ENOSYS, header.unique};
          if (write(connection, &header_only, sizeof(header_only)) < 0 && errno != ENOENT) _exit(1);
        }
      }
    }
  }

  static int OpenPage(const std::string& mount_point) {
    return open((mount_point + "/page").c_str(), O_RDONLY | O_CLOEXEC);
  }

  [[noreturn]] static void ReadPage(const std::string& mount_point) {
    char byte = 0;
    _exit(read(OpenPage(mount_point), &byte, 1) == 1 ? 0 : 1);
  }

  [[noreturn]] static void Hang(const std::string& mount_point, int pid_pipe) {
    const int fd = OpenPage(mount_point);
    const pid_t own = getpid();
    if (fd < 0 || write(pid_pipe, &own, sizeof(own)) != sizeof(own)) _exit(1);
    close(pid_pipe);
    mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, fd, 0);
    _exit(0);
  }

  // Waits until it hangs: asleep, and no signal wakes it.
  static bool WaitUntilItHangs(pid_t pid) {
    for (int i = 0; i < 10'000; ++i) {
      std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
      std::string word;
      while (file >> word && !word.ends_with(')')) continue;
      if (!(file >> word)) return false;
      if (word == "D") return true;
      poll(nullptr, 0, 1);
    }
    return false;
  }

  const std::string mount_point_;
  bool is_mounted_ = false;
  pid_t server_ = 0;
  pid_t reader_ = 0;
  pid_t pid_ = 0;
};

}  // namespace muster::agent
