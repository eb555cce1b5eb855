#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace predgen {

/// The whole file; UserError if it is missing, a folder or unreadable.
std::string read_file(const std::filesystem::path& file);

/// Writes under a temporary name, fsyncs, renames: a reader sees the old file or the new one.
/// Throws Error with the system's reason (disk full, no permission) and removes the temporary file.
void write_file(const std::filesystem::path& file, std::string_view contents);
/// For contents too large to hold in memory: `write` writes them to the stream.
void write_file(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

/// fsyncs `temporary`, renames it to `file` and fsyncs the folder.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& file);

/// Creates the folder and its parents; UserError if something else has that name.
void make_folder(const std::filesystem::path& folder);

/// A file that the configuration `config` names: `path`, or, if it is only there, where `path` is
/// beside the folder "configs" that `config` lies in.
std::filesystem::path path_beside_configs(const std::filesystem::path& path,
                                          const std::filesystem::path& config);

/// Expands ${NAME} and ${NAME:-default} from the environment; UserError if NAME has neither.
std::string expand_variables(std::string_view text);

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
