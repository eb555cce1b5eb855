// Writes the tensors of a GGUF file as float32 into a safetensors file, for the Python parity test:
// each as read_rows() gives it ("rows/NAME") and, where it is stored in few bits, as widen() makes
// it of read_codes() ("codes/NAME"). Without TO it only reads all rows and says how long that
// took.

#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "core/error.h"
#include "tensors/gguf_file.h"
#include "tensors/safetensors.h"

using namespace predgen;

namespace {

at::Tensor combined(const GgufFile& file, const GgufFile::Entry& entry) {
  const CodedRows coded = file.read_codes(entry, 0, entry.shape[0]);
  const CodeLayout& layout = entry.type->layout;
  PREDGEN_CHECK(coded.codes.min().item<int>() >= layout.lowest &&
                    coded.codes.max().item<int>() <= layout.highest,
                "codes of {} lie outside of {} to {}", entry.type->name, layout.lowest,
                layout.highest);
  PREDGEN_CHECK(layout.has_offsets || coded.offsets.eq(0).all().item<bool>(), "{} has offsets",
                entry.type->name);
  return widen(coded, layout);
}

void unpack(const char* from, const char* to) {
  const GgufFile file(from);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, entry] : file.entries()) {
    tensors["rows/" + name] = file.read_rows(entry, 0, entry.shape[0]).to(at::kFloat);
    if (entry.type->is_plain()) continue;
    tensors["codes/" + name] = combined(file, entry);
  }
  write_safetensors(to, tensors);
}

void read_all(const char* from) {
  const GgufFile file(from);
  const auto begin = std::chrono::steady_clock::now();
  int64_t num_values = 0;
  for (const auto& [name, entry] : file.entries()) {
    num_values += file.read_rows(entry, 0, entry.shape[0]).numel();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f million values in %.3f s\n", static_cast<double>(num_values) / 1e6,
              seconds.count());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3) {
      unpack(argv[1], argv[2]);
    } else if (argc == 2) {
      read_all(argv[1]);
    } else {
      std::fprintf(stderr, "unpack_gguf FROM [TO]\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unpack_gguf: %s\n", error.what());
    return 1;
  }
  return 0;
}
