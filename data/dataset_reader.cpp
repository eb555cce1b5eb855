#include <algorithm>
#include <list>

#include "core/error.h"
#include "data/dataset_store.h"
#include "data/hdf5_file.h"
#include "data/hdf5_store.h"
#include "data/open_shard.h"
#include "data/part_index.h"

namespace predgen::data {
namespace fs = std::filesystem;

namespace {

/// Shards of a dataset that are open at a time; each takes a file descriptor, and a dataset may
/// have thousands of shards.
constexpr size_t kMostOpenShards = 16;

class Hdf5DatasetReader : public DatasetReader {
 public:
  explicit Hdf5DatasetReader(const fs::path& folder) {
    const fs::path file = folder / "manifest.json";
    if (!fs::exists(file)) {
      throw UserError(
          "{}: no manifest.json: not a dataset, or its build did not finish (run it again)",
          folder.string());
    }
    manifest_ = read_json(file);
    if (json_get<std::string>(manifest_, "format", file.string()) != "predgen-dataset" ||
        json_get<int>(manifest_, "version", file.string()) != 1) {
      throw UserError("{}: not a manifest of this version of predgen", file.string());
    }
    for (const Json& shard : json_get<Json>(manifest_, "shards", file.string())) {
      add_shard(folder, shard, file.string());
    }
  }

  ~Hdf5DatasetReader() override {
    const Lock lock(hdf5_mutex());
    open_.clear();
  }

  int64_t size() const override { return index_.size(); }
  const Json& manifest() const override { return manifest_; }

  Record read(int64_t index) const override {
    const auto [shard, place] = index_.find(index);
    const Lock lock(hdf5_mutex());
    return open(shard).read(place);
  }

  RecordSize size_of(int64_t index) const override {
    const auto [shard, place] = index_.find(index);
    return shards_[shard].sizes.at(static_cast<size_t>(place));
  }

 private:
  struct Shard {
    fs::path file;
    RecordSizes sizes;
  };

  /// Most recently used first.
  const OpenShard& open(size_t shard) const REQUIRES(hdf5_mutex()) {
    const auto found = std::ranges::find(open_, shard, &std::pair<size_t, OpenShard>::first);
    if (found != open_.end()) {
      open_.splice(open_.begin(), open_, found);
    } else {
      if (open_.size() == kMostOpenShards) open_.pop_back();
      open_.emplace_front(shard, OpenShard(shards_[shard].file));
    }
    return open_.front().second;
  }

  void add_shard(const fs::path& folder, const Json& entry, const std::string& where) {
    const fs::path file = folder / json_get<std::string>(entry, "file", where);
    if (!fs::exists(file))
      throw UserError("{}: is missing; build the dataset again", file.string());
    const auto num_bytes = json_get<uintmax_t>(entry, "num_bytes", where);
    if (fs::file_size(file) != num_bytes) {
      throw UserError(
          "{}: has {} bytes, its manifest says {}: truncated or replaced; build the dataset again",
          file.string(), fs::file_size(file), num_bytes);
    }
    if (hash_file(file) != json_get<std::string>(entry, "hash", where)) {
      throw UserError("{}: its bytes are not those of the manifest; build the dataset again",
                      file.string());
    }
    const Lock lock(hdf5_mutex());
    try {
      shards_.push_back({file, OpenShard(file).sizes()});
    } catch (const UserError&) {
      throw;  // failing to open says nothing about the shard
    } catch (const std::exception& error) {
      throw UserError("{}: not a whole shard ({}); build the dataset again", file.string(),
                      error.what());
    }
    const int64_t size = shards_.back().sizes.size();
    if (size != json_get<int64_t>(entry, "num_records", where)) {
      throw UserError("{}: holds {} records, its manifest says otherwise; build the dataset again",
                      file.string(), size);
    }
    index_.add(size);
  }

  Json manifest_;
  std::vector<Shard> shards_;
  mutable std::list<std::pair<size_t, OpenShard>> open_ GUARDED_BY(hdf5_mutex());
  PartIndex index_;
};

}  // namespace

std::unique_ptr<DatasetReader> open_dataset(const fs::path& folder) {
  return std::make_unique<Hdf5DatasetReader>(folder);
}

}  // namespace predgen::data
