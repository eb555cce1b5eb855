#pragma once

#include <filesystem>

namespace predgen::train {

/// Reserves an output folder for one run, until the object is destroyed or its process ends in any
/// way. Leaves nothing in the folder.
class OutputLock {
 public:
  /// Creates the folder if missing. UserError while another run holds it; only a warning on a file
  /// system that cannot lock folders, such as some network ones.
  explicit OutputLock(const std::filesystem::path& folder);
  ~OutputLock();
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace predgen::train
