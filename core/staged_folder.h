#pragma once

#include <filesystem>

namespace predgen {

/// A folder that gets its final name in one rename when it is complete. Until then it is
/// `.NAME.partial` next to it, locked against other processes; an exception removes it, and the
/// next process removes what a killed one left.
class StagedFolder {
 public:
  /// UserError if another process is writing the same folder.
  explicit StagedFolder(const std::filesystem::path& final_name);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  const std::filesystem::path& path() const { return folder_; }
  /// Call it once. Error if `final_name` exists and is not an empty folder.
  void publish();

 private:
  std::filesystem::path final_name_, folder_;
  int lock_ = -1;
  bool published_ = false;
};

}  // namespace predgen
