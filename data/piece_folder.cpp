#include "data/piece_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "data/hdf5_store.h"

namespace predgen::data {
namespace {

struct flock one_byte(short type, int64_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

ByteLock::~ByteLock() {
  if (descriptor_ < 0) return;
  struct flock lock = one_byte(F_UNLCK, byte_);
  fcntl(descriptor_, F_OFD_SETLK, &lock);
}

LockFile::LockFile(const std::filesystem::path& file)
    : file_(file), descriptor_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw Error("{}: cannot be written ({})", file.string(), strerror(errno));
}

LockFile::~LockFile() { close(descriptor_); }

std::optional<ByteLock> LockFile::try_lock(int64_t byte) const {
  if (!request(F_OFD_SETLK, byte)) return std::nullopt;
  return ByteLock(descriptor_, byte);
}

ByteLock LockFile::lock(int64_t byte) const {
  request(F_OFD_SETLKW, byte);
  return {descriptor_, byte};
}

bool LockFile::request(int command, int64_t byte) const {
  struct flock lock = one_byte(F_WRLCK, byte);
  while (fcntl(descriptor_, command, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno == EINTR) continue;
    throw UserError(
        "{}: cannot be locked ({}), and by locks processes share the work: choose an output on "
        "another file system",
        file_.string(), strerror(errno));
  }
  return true;
}

void LockFile::overwrite(const std::string& text) const {
  bool done = ftruncate(descriptor_, 0) == 0;
  for (size_t written = 0; done && written < text.size();) {
    const ssize_t count = pwrite(descriptor_, text.data() + written, text.size() - written,
                                 static_cast<off_t>(written));
    if (count < 0 && errno == EINTR) continue;
    done = count > 0;
    written += done ? static_cast<size_t>(count) : 0;
  }
  if (!done || fsync(descriptor_) != 0) {
    throw Error("{}: cannot be written ({})", file_.string(), strerror(errno));
  }
}

namespace fs = std::filesystem;

namespace {

constexpr int64_t kFolderByte = 0;  // lock for beginning and finishing; pieces' bytes follow

/// Adds the numbers of one tree to those of another.
void add_counters(const Json& counters, Json& total) {
  for (const auto& [name, value] : counters.items()) {
    Json& sum = total[name];
    if (value.is_object()) {
      add_counters(value, sum);
    } else {
      sum = value.get<int64_t>() + (sum.is_null() ? 0 : sum.get<int64_t>());
    }
  }
}

}  // namespace

PieceFolder::PieceFolder(const fs::path& folder, const Json& recipe, int64_t num_pieces)
    : folder_(folder), recipe_(recipe), written_(static_cast<size_t>(num_pieces)) {
  make_folder(folder);
  if (is_finished()) return;
  // Others may begin or finish right now: the recipe is their first file, the manifest their last.
  if (!fs::is_empty(folder) && !fs::exists(folder / "recipe.json") && !is_finished()) {
    throw UserError("{}: is not empty and holds no dataset; choose another output folder",
                    folder.string());
  }
  claims_.emplace(folder / "recipe.json");
  const ByteLock lock = claims_->lock(kFolderByte);
  if (is_finished()) {
    fs::remove(folder / "recipe.json");
  } else {
    begin();
  }
}

void PieceFolder::begin() const {
  const std::string text = recipe_.dump(2) + "\n", there = read_file(folder_ / "recipe.json");
  if (there == text) return;
  if (text.starts_with(there)) return claims_->overwrite(text);  // empty, or its writer was killed
  check_same_recipe(folder_, parse_json(there, (folder_ / "recipe.json").string()), recipe_);
}

bool PieceFolder::is_finished() const {
  const fs::path file = folder_ / "manifest.json";
  if (!fs::exists(file)) return false;
  check_same_recipe(folder_, json_get<Json>(read_json(file), "recipe", file.string()), recipe_);
  return true;
}

fs::path PieceFolder::file_of(int64_t piece) const { return folder_ / shard_name(piece); }

bool PieceFolder::is_written(int64_t piece) {
  const auto index = static_cast<size_t>(piece);
  if (!written_[index]) written_[index] = fs::exists(file_of(piece));
  return written_[index];
}

int64_t PieceFolder::num_written() {
  int64_t count = 0;
  for (int64_t piece = 0; piece < std::ssize(written_); ++piece) count += is_written(piece);
  return count;
}

std::optional<PieceFolder::Piece> PieceFolder::claim(const RankShare& share) {
  for (int64_t other = 0; other < share.num_ranks; ++other) {
    const int64_t first = (share.rank + other) % share.num_ranks;
    for (int64_t piece = first; piece < std::ssize(written_); piece += share.num_ranks) {
      if (is_written(piece)) continue;
      std::optional<ByteLock> lock = claims_->try_lock(kFolderByte + 1 + piece);
      // Its last owner may have written it meanwhile.
      if (lock && !is_written(piece)) return Piece{piece, std::move(*lock)};
    }
  }
  return std::nullopt;
}

void PieceFolder::write(Piece piece, const RecordColumns& records, const Json& counters) {
  write_shard(file_of(piece.index), records, recipe_hash(recipe_), counters);
}

bool PieceFolder::finish() {
  PREDGEN_CHECK(num_written() == std::ssize(written_), "pieces are missing");
  if (!claims_) return false;
  const ByteLock lock = claims_->lock(kFolderByte);
  if (is_finished()) return false;
  std::vector<ShardInfo> shards;
  Json counters = Json::object();
  for (int64_t piece = 0; piece < std::ssize(written_); ++piece) {
    const fs::path file = file_of(piece);
    try {
      shards.push_back(read_shard_info(file, recipe_hash(recipe_)));
    } catch (const Error& error) {
      throw UserError("{}: not a shard of this dataset ({}); remove this file and run it again",
                      file.string(), error.what());
    }
    add_counters(shards.back().state, counters);
  }
  write_manifest(folder_, recipe_, shards, counters);
  return true;
}

}  // namespace predgen::data
