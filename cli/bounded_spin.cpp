// Threads of libgomp, on which LibTorch computes, look for their next work for some ten
// milliseconds before they sleep; on a shared machine the work they wait for lacks that core
// meanwhile. libgomp reads the time from the environment before main() and has no other switch, so
// the program re-executes itself with GOMP_SPINCOUNT, before any library has begun (0.03 s), unless
// that or OMP_WAIT_POLICY is set. In-process tools such as valgrind do not follow it there unless
// told to: set GOMP_SPINCOUNT before.
#include <alloca.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

namespace {

char g_spins[] = "GOMP_SPINCOUNT=1000";  // some 25 us

void start_with_bounded_spin(int, char** arguments, char** environment) {
  if (getauxval(AT_SECURE) != 0) return;  // it has more rights than its caller
  size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    const std::string_view variable(environment[count]);
    if (variable.starts_with("GOMP_SPINCOUNT=") || variable.starts_with("OMP_WAIT_POLICY=")) return;
  }
  if (getauxval(AT_BASE) == 0) return;  // the dynamic loader was started with this as an argument
  auto** more = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  for (size_t i = 0; i < count; ++i) more[i] = environment[i];
  more[count] = g_spins;
  more[count + 1] = nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's vector holds addresses as integers
  execve(reinterpret_cast<const char*>(getauxval(AT_EXECFN)), arguments, more);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*g_begin)(int, char**,
                                                              char**) = start_with_bounded_spin;

}  // namespace
