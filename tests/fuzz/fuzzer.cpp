// libFuzzer's entry points. PREDGEN_FUZZ_TARGET names the target (targets.cpp).

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/log.h"
#include "tests/fuzz/targets.h"

namespace {

const predgen::FuzzTarget* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off);
  const char* name = std::getenv("PREDGEN_FUZZ_TARGET");
  for (const predgen::FuzzTarget& target : predgen::fuzz_targets()) {
    if (name && std::string_view(name) == target.name) chosen = &target;
  }
  if (chosen) return 0;
  std::fprintf(stderr, "set PREDGEN_FUZZ_TARGET to one of:");
  for (const predgen::FuzzTarget& target : predgen::fuzz_targets()) {
    std::fprintf(stderr, " %s", target.name);
  }
  std::fprintf(stderr, "\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  predgen::takes(*chosen, {reinterpret_cast<const char*>(data), size});
  return 0;
}
