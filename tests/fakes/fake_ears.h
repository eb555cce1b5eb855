#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "hear/ears_process.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {

/// Scripts for the program fake_ears, which stands in for predgen-ears
/// (fake_ears.cpp says what they say).
class FakeEars {
 public:
  explicit FakeEars(const std::string& script) {
    std::ofstream(folder_ / "script") << script;
    options_.recogniser = folder_ / "script";
    options_.voice_activity = "silero.onnx";
    options_.program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fake_ears";
    options_.limits = {.again_seconds = 0.01};
  }

  EarsOptions& options() { return options_; }
  int num_starts() const {
    int count = 0;
    std::ifstream(folder_ / "script.starts") >> count;
    return count;
  }

 private:
  TemporaryFolder folder_;
  EarsOptions options_;
};

}  // namespace predgen
