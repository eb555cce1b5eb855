#include "serve/known_hashes.h"

#include <sys/stat.h>

#include <ctime>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"

namespace predgen::serve {

namespace {

constexpr size_t kMaxKnown = 256;

struct FileState {
  std::string key;     // of the file as it is
  Seconds written{0};  // or changed otherwise, since the epoch
};

FileState state_of(const std::filesystem::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) throw UserError("{}: cannot be read", file.string());
  const auto& [seconds, nanoseconds] = found.st_ctim;  // which nobody sets
  return {
      .key = fmt::format("{}-{}-{}-{}.{:09}-{}.{:09}", found.st_dev, found.st_ino, found.st_size,
                         found.st_mtim.tv_sec, found.st_mtim.tv_nsec, seconds, nanoseconds),
      .written = Seconds(static_cast<double>(seconds) + static_cast<double>(nanoseconds) / 1e9)};
}

Seconds now() { return std::chrono::system_clock::now().time_since_epoch(); }

}  // namespace

KnownHashes::KnownHashes(std::filesystem::path record, Seconds settled)
    : record_(std::move(record)), settled_(settled) {
  if (!std::filesystem::exists(record_)) return;
  try {
    const Json read = read_json(record_);
    for (const auto& [key, hash] : read.items()) {
      if (hash.is_string()) known_[key] = hash;
    }
  } catch (const UserError&) {  // it is written anew
  }
}

std::string KnownHashes::hash(const std::vector<std::filesystem::path>& files) {
  Hasher hasher;
  for (const auto& file : files) hasher.add(file.filename().string()).add(hash_of(file));
  return hasher.hex();
}

std::string KnownHashes::hash_of(const std::filesystem::path& file) {
  const FileState before = state_of(file);
  if (known_.contains(before.key)) return known_[before.key].get<std::string>();
  const Seconds begun = now();
  ++num_read_;
  const std::string found = Hasher().add_file(file).hex();
  if (begun - before.written >= settled_ && state_of(file).key == before.key) {
    known_[before.key] = found;
    is_new_ = true;
  }
  return found;
}

void KnownHashes::save() const {
  if (!is_new_) return;
  Json newest = known_;
  while (newest.size() > kMaxKnown) newest.erase(newest.begin());
  write_file(record_, to_text(newest, 1) + "\n");
}

}  // namespace predgen::serve
