#pragma once

#include <filesystem>

namespace predgen::train {

/// Keeps an output folder for one run at a time, until the object or its process ends, however it
/// does. It leaves nothing in the folder.
class OutputLock {
 public:
  /// Makes the folder where there is none. UserError while another run has it; only a warning on a
  /// file system that locks no folders, as some network ones.
  explicit OutputLock(const std::filesystem::path& folder);
  ~OutputLock();
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace predgen::train
