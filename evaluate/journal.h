#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "core/json.h"
#include "core/mutex.h"

namespace predgen::evaluate {

/// What an unfinished run has done so far, a line of JSON for each part, so that a killed run can
/// resume. Thread-safe.
class Journal {
 public:
  /// Continues the file if it exists, without a torn last line. `identity`: a hash of everything
  /// that decides the parts. UserError if the file has a different one, unless `restart`.
  Journal(std::filesystem::path file, const std::string& identity, bool restart);

  /// nullopt: not done yet.
  std::optional<Json> find(const std::string& key) const;
  /// The part is in the file when this returns. Error if it cannot be written.
  void append(const std::string& key, const Json& value);
  /// Deletes the file: the run is complete.
  void remove();

 private:
  void read() REQUIRES(mutex_);

  const std::filesystem::path file_;
  mutable Mutex mutex_;
  std::map<std::string, Json> parts_ GUARDED_BY(mutex_);
  std::ofstream stream_ GUARDED_BY(mutex_);
};

}  // namespace predgen::evaluate
