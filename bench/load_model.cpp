// Time and memory of loading a Hugging Face folder against plain reading of its weight files, cold
// (their pages dropped from the cache first) and warm, in one run.
//
// usage: predgen_load_bench FOLDER [fp32|bf16]

#include "checkpoint/load_model.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "model/configure_math.h"

using namespace predgen;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> weight_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  if (files.empty()) throw UserError("{}: has no .safetensors files", folder.string());
  return files;
}

/// Reads all files as fast as the disk or the cache gives them; `drop`: forgets their pages
/// instead.
void read_files(const std::vector<fs::path>& files, bool drop) {
  std::vector<char> buffer(8 << 20);
  for (const fs::path& file : files) {
    const int descriptor = open(file.c_str(), O_RDONLY);
    if (descriptor < 0) throw UserError("{}: cannot be opened", file.string());
    if (drop) {
      fdatasync(descriptor);
      posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    } else {
      while (read(descriptor, buffer.data(), buffer.size()) > 0) {
      }
    }
    close(descriptor);
  }
}

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// VmHWM or VmRSS in MB.
double memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stod(line.substr(line.find(':') + 1)) * 1024 / 1e6;
  }
  return 0;
}

/// Loads and looks at every weight once, so that nothing is left to be read later.
void load(const fs::path& folder, const std::string& dtype) {
  const auto model = load_model(*open_checkpoint(folder), {}, {.device = "cpu", .dtype = dtype});
  for (const auto& [name, tensor] : model->named_weights()) tensor.max();
}

void run(const fs::path& folder, const std::string& dtype) {
  const std::vector<fs::path> files = weight_files(folder);
  double megabytes = 0;
  for (const fs::path& file : files) megabytes += static_cast<double>(fs::file_size(file)) / 1e6;
  const auto print = [&](const char* what, double seconds) {
    std::printf("%-44s %8.2f s %8.0f MB/s of file\n", what, seconds, megabytes / seconds);
  };
  std::printf("%s: %.0f MB in %zu files, as %s\n", folder.c_str(), megabytes, files.size(),
              dtype.c_str());
  for (const bool cold : {true, false}) {
    const auto prepare = [&] {
      if (cold) read_files(files, true);
    };
    prepare();
    print(cold ? "read, cold" : "read, warm", seconds_of([&] { read_files(files, false); }));
    prepare();
    const double before = memory("VmRSS");
    std::ofstream("/proc/self/clear_refs") << 5;  // begins VmHWM anew
    print(cold ? "load and look at every weight, cold" : "load and look at every weight, warm",
          seconds_of([&] { load(folder, dtype); }));
    std::printf("%-44s %8.0f MB above the program's own %.0f MB\n", "  peak memory",
                memory("VmHWM") - before, before);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    configure_math();
    if (argc < 2) throw UserError(std::string("usage: predgen_load_bench FOLDER [fp32|bf16]"));
    run(argv[1], argc > 2 ? argv[2] : "bf16");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
