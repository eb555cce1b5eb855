// Preloaded into predgen, runs its main() in forks of one process. LibTorch takes 0.2 s to start,
// most of what a short command takes; here it has started already. tests/cli/program.py asks for
// runs.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Main = int (*)(int, char**, char**);
using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

Main main_of_program = nullptr;
int requests = -1;  // the socket

/// A run: its standard streams, the folder to run in, and its words.
struct Run {
  std::array<int, 3> streams{};
  std::vector<std::string> words;
};

void read_all(void* to, size_t size) {
  for (auto* at = static_cast<char*>(to); size > 0;) {
    const ssize_t n = read(requests, at, size);
    if (n <= 0) _exit(0);  // the script has ended
    at += n;
    size -= static_cast<size_t>(n);
  }
}

void write_number(int32_t number) {
  if (write(requests, &number, sizeof(number)) != sizeof(number)) _exit(0);
}

/// The number of bytes comes with the streams; then the words, each with a zero behind it.
Run receive() {
  Run run;
  uint32_t size = 0;
  iovec part{&size, sizeof(size)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(run.streams))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (recvmsg(requests, &message, MSG_WAITALL) != sizeof(size)) _exit(0);
  std::memcpy(run.streams.data(), CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(run.streams));
  std::string text(size, '\0');
  read_all(text.data(), size);
  for (size_t at = 0; at < text.size(); at += run.words.back().size() + 1) {
    run.words.emplace_back(text.c_str() + at);
  }
  return run;
}

int serve(int /*argc*/, char** /*argv*/, char** /*env*/) {
  requests = std::atoi(std::getenv("FORK_SERVER_SOCKET"));
  unsetenv("FORK_SERVER_SOCKET");
  unsetenv("LD_PRELOAD");
  while (true) {
    Run run = receive();
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 3; ++i) dup2(run.streams[i], i);
      for (const int stream : run.streams) close(stream);
      close(requests);
      if (chdir(run.words.front().c_str()) != 0) _exit(127);
      std::vector<char*> arguments;
      for (size_t i = 1; i < run.words.size(); ++i) arguments.push_back(run.words[i].data());
      arguments.push_back(nullptr);
      std::exit(main_of_program(static_cast<int>(arguments.size()) - 1, arguments.data(), environ));
    }
    for (const int stream : run.streams) close(stream);
    write_number(child);
    int status = 0;
    waitpid(child, &status, 0);
    write_number(status);
  }
}

}  // namespace

extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                                 void (*rtld_fini)(), void* stack_end) {
  main_of_program = main;
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
