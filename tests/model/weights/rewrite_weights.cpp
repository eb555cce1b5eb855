// Reads files of the reference libraries and writes them again, for the Python parity tests; or
// only loads a model, for the test of the memory that this takes.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/load_model.h"
#include "checkpoint/save_model.h"
#include "model/weights/adapter.h"
#include "model/weights/weight_files.h"
#include "tensors/safetensors.h"

using namespace predgen;

namespace {

const LoadOptions kCpu{.device = "cpu", .dtype = "fp32"};

void rewrite_file(const char* from, const char* to) {
  const SafetensorsFile file(from);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, entry] : file.entries()) tensors[name] = file.tensor(name);
  write_safetensors(to, tensors, file.metadata());
}

void rewrite_adapter(const char* base, const char* from, const char* to) {
  const auto model = load_model(*open_checkpoint(base), {}, kCpu);
  const AdapterFolder adapter(from);
  adapter.attach(*model);
  save_adapter(*model, adapter.config(), to);
}

void shard_model(const char* from, const char* to, const char* max_bytes) {
  const auto model = load_model(*open_checkpoint(from), {}, kCpu);
  save_model(*model, to, open_checkpoint(from).get(), "fp32");
  const auto weights = model->named_weights();
  write_sharded_weights(to, {weights.begin(), weights.end()}, at::kFloat,
                        std::strtoull(max_bytes, nullptr, 10));
}

/// Prints the line of /proc/self/status with the peak of memory.
void print_peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM")) std::printf("%s\n", line.c_str());
  }
}

/// Looks at every weight too, so that mapped ones are read.
void load_only(const char* from, const char* dtype, const char* quantization) {
  const auto model = load_model(
      *open_checkpoint(from), {},
      {.device = "cpu", .dtype = dtype, .quantization = parse_quantization(quantization)});
  if (std::string(quantization) == "none") {
    for (const auto& [name, tensor] : model->named_weights()) tensor.max();
  }
  print_peak();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  try {
    if (verb == "file" && argc == 4) {
      rewrite_file(argv[2], argv[3]);
    } else if (verb == "adapter" && argc == 5) {
      rewrite_adapter(argv[2], argv[3], argv[4]);
    } else if (verb == "shard" && argc == 5) {
      shard_model(argv[2], argv[3], argv[4]);
    } else if (verb == "load" && argc == 5) {
      load_only(argv[2], argv[3], argv[4]);
    } else {
      std::fprintf(stderr,
                   "rewrite_weights file FROM TO | adapter BASE FROM TO | shard FROM TO BYTES | "
                   "load FROM DTYPE QUANTIZATION\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rewrite_weights: %s\n", error.what());
    return 1;
  }
  return 0;
}
