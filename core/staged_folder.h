#pragma once

#include <filesystem>

namespace predgen {

/// A folder that gets its name in one rename when all of it is there. Until then it is
/// `.NAME.partial` beside that name, locked against other processes; an exception removes it, and
/// what a killed process left there is removed by the next one.
class StagedFolder {
 public:
  /// UserError if another process is writing the same folder.
  explicit StagedFolder(const std::filesystem::path& final_name);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  const std::filesystem::path& path() const { return folder_; }
  /// Call it once. Error if `final_name` is there and not an empty folder.
  void publish();

 private:
  std::filesystem::path final_name_, folder_;
  int lock_ = -1;
  bool published_ = false;
};

}  // namespace predgen
