#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/json.h"

namespace predgen::serve {

/// Hashes of large files, with a record of those that were computed before: a file that was not
/// written since, as its inode, size and times tell, is not read again. Used by one thread.
class KnownHashes {
 public:
  /// A record that is not there, or broken, is an empty one. A file is recorded only if it was
  /// written at least `settled` ago: one that is written again at once could have the same times.
  explicit KnownHashes(std::filesystem::path record, Seconds settled = Seconds(2));

  /// Of the names and contents of the files. UserError if one cannot be read.
  std::string hash(const std::vector<std::filesystem::path>& files);
  /// How many files were read for it.
  int64_t num_read() const { return num_read_; }
  /// Writes the record if there is something new, with the hashes that were computed last.
  void save() const;

 private:
  std::string hash_of(const std::filesystem::path& file);

  const std::filesystem::path record_;
  const Seconds settled_;
  Json known_ = Json::object();  // by what tells a file from others
  int64_t num_read_ = 0;
  bool is_new_ = false;
};

}  // namespace predgen::serve
