#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/json.h"
#include "core/mutex.h"
#include "runtime/engine/sequence.h"

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

/// What a model keeps of the first tokens of prompts, in a folder, so that a prompt which begins
/// alike is not read again after a restart. A safetensors file for each: the tokens, and keys and
/// values of every layer, as they were computed. Clients find only their own, as PrefixCache has
/// it. Thread-safe.
class PrefixStore {
 public:
  struct Options {
    std::filesystem::path folder;
    int64_t max_bytes = int64_t{2} << 30;  // of all files; the one used longest ago goes first
    std::string identity{};                // of all that decides what is computed
  };
  /// Finds what the folder has; files that are broken, or are no such files, are left alone, which
  /// is logged. UserError if the folder cannot be made, or for a model that also keeps states.
  PrefixStore(Options options, const KvLayout& layout);
  /// Writes what was given to keep().
  ~PrefixStore();

  /// How many first tokens of the prompt the client's best prefix has.
  int64_t num_common(const std::string& client, TokenSpan prompt);
  /// The rows of these tokens. None: there is no such prefix, or its file is broken, which is
  /// logged; then it is forgotten.
  KvRows read(const std::string& client, TokenSpan prompt);
  /// `rows`: of all the tokens. Written by a thread of its own; nothing is kept while that writes
  /// another one, or if it alone would take half of the room.
  void keep(const std::string& client, TokenSpan tokens, KvRows rows);

 private:
  struct Prefix {
    std::filesystem::path file{};
    std::string client{};  // hashed
    TokenIds tokens{};     // none: another model's
    int64_t num_bytes = 0;
    std::filesystem::file_time_type used{};
  };
  struct Kept {
    std::string client;
    TokenIds tokens;
    KvRows rows;
  };
  using Place = std::list<Prefix>::iterator;
  /// nullopt: it is no such file.
  std::optional<Prefix> look_at(const std::filesystem::path& file) const;
  std::pair<Place, int64_t> find(const std::string& client, TokenSpan prompt) REQUIRES(mutex_);
  /// Removes files beyond the room.
  void make_room() REQUIRES(mutex_);
  /// The thread's, as the next.
  void work(const std::stop_token& stop);
  void write(const Kept& kept);

  const Options options_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Prefix> prefixes_ GUARDED_BY(mutex_);
  std::optional<Kept> kept_ GUARDED_BY(mutex_);  // that waits, or is written
  std::jthread thread_;                          // last: it uses all of them
};

}  // namespace predgen::serve
