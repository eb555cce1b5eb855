#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "core/json.h"
#include "core/mutex.h"

namespace predgen::evaluate {

/// What an unfinished run has done so far, a line of JSON for each part, so that one that was
/// killed goes on where it was. Thread-safe.
class Journal {
 public:
  /// Goes on with the file if it is there, without a last line that is torn. `identity`: a hash of
  /// all that decides the parts. UserError if the file has another one, unless `restart`.
  Journal(std::filesystem::path file, const std::string& identity, bool restart);

  /// Nothing: not done yet.
  std::optional<Json> find(const std::string& key) const;
  /// Is in the file when this returns. Error if it cannot be written.
  void append(const std::string& key, const Json& value);
  /// The run is through.
  void remove();

 private:
  void read() REQUIRES(mutex_);

  const std::filesystem::path file_;
  mutable Mutex mutex_;
  std::map<std::string, Json> parts_ GUARDED_BY(mutex_);
  std::ofstream stream_ GUARDED_BY(mutex_);
};

}  // namespace predgen::evaluate
