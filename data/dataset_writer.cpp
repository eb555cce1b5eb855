#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "data/hdf5_file.h"
#include "data/hdf5_store.h"
#include "data/record_columns.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

std::string shard_name(size_t index) { return fmt::format("shard-{:05}.h5", index); }

/// Refuses a folder that holds anything but an unfinished dataset of this recipe.
void check_folder(const fs::path& folder, const Json& recipe, bool resume) {
  fs::remove(folder / "recipe.json.tmp");  // all that a build killed at its start leaves
  for (const char* name : {"manifest.json", "recipe.json"}) {
    if (!fs::exists(folder / name)) continue;
    Json there = read_json(folder / name);
    if (name == std::string("manifest.json")) {
      there = json_get<Json>(there, "recipe", (folder / name).string());
    }
    if (there != recipe) {
      throw UserError(
          "{}: holds a dataset of another recipe ({}); remove it or choose another folder",
          folder.string(), recipe_difference(there, recipe));
    }
    if (name == std::string("manifest.json")) {
      throw UserError("{}: the dataset is finished already; remove it to build it again",
                      folder.string());
    }
    if (!resume) {
      throw UserError("{}: holds an unfinished dataset; remove it or resume it", folder.string());
    }
    return;
  }
  if (!fs::is_empty(folder)) {
    throw UserError("{}: is not empty and holds no dataset; choose another output folder",
                    folder.string());
  }
}

class Hdf5DatasetWriter : public DatasetWriter {
 public:
  Hdf5DatasetWriter(const fs::path& folder, const Json& recipe, const StoreOptions& options)
      : folder_(folder), recipe_(recipe), options_(options), hash_(recipe_hash(recipe)) {
    PREDGEN_CHECK(options.records_per_shard >= 1, "records_per_shard");
    make_folder(folder);
    check_folder(folder, recipe, options.resume);
    if (fs::exists(folder / "recipe.json")) {
      find_shards();
    } else {
      write_file(folder / "recipe.json", recipe.dump(2) + "\n");
    }
  }

  void append(const Record& record) override {
    pending_.append(record);
    if (pending_.num_records() >= options_.records_per_shard) publish(Json());
  }

  void flush(const Json& state) override {
    if (pending_.num_records() > 0) publish(state);
  }

  void finish(const Json& counters) override {
    flush(Json());
    if (num_records_ == 0) {
      throw UserError("{}: no record is left, the dataset would be empty; counters: {}",
                      folder_.string(), counters.dump());
    }
    const Json manifest = {{"format", "predgen-dataset"}, {"version", 1},
                           {"recipe", recipe_},           {"recipe_hash", hash_},
                           {"num_records", num_records_}, {"num_tokens", num_tokens_},
                           {"shards", shards_},           {"counters", counters}};
    write_file(folder_ / "manifest.json", manifest.dump(2) + "\n");
    fs::remove(folder_ / "recipe.json");
  }

  int64_t size() const override { return num_records_ + pending_.num_records(); }
  const Json& state() const override { return state_; }

 private:
  /// Takes over what a killed build has finished; its half-written shard is removed.
  void find_shards() {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() == ".tmp") fs::remove(entry.path());
    }
    while (fs::exists(folder_ / shard_name(shards_.size()))) {
      const fs::path file = folder_ / shard_name(shards_.size());
      int64_t num_records = 0, num_tokens = 0;
      try {
        const std::lock_guard lock(hdf5_mutex());
        const Hdf5Handle handle = open_hdf5(file);
        if (read_text(handle, "recipe_hash") != hash_) throw Error("wrong recipe");
        state_ = parse_json(read_text(handle, "state"), file.string());
        num_records = column_size(open_column(handle, "round"));
        num_tokens = column_size(open_column(handle, "tokens"));
      } catch (const Error& error) {
        throw UserError(
            "{}: not a shard of this dataset ({}); remove the folder {} and start again",
            file.string(), error.what(), folder_.string());
      }
      add_shard(file, num_records, num_tokens);
    }
  }

  void add_shard(const fs::path& file, int64_t num_records, int64_t num_tokens) {
    shards_.push_back({{"file", file.filename().string()},
                       {"num_records", num_records},
                       {"num_bytes", fs::file_size(file)},
                       {"hash", hash_file(file)}});
    num_records_ += num_records;
    num_tokens_ += num_tokens;
  }

  void publish(const Json& state) {
    const fs::path file = folder_ / shard_name(shards_.size());
    const fs::path temporary = file.string() + ".tmp";
    try {
      pending_.write(temporary, hash_, state.dump());
      publish_file(temporary, file);
    } catch (const Error& error) {
      std::error_code ignored;
      const uintmax_t num_free = fs::space(folder_, ignored).available;
      fs::remove(temporary, ignored);  // it may be what fills the disk
      throw Error(
          "{}: cannot be written ({}; {} kB were left on the disk); the {} shards before it are "
          "kept: run it again to go on",
          file.string(), error.what(), num_free / 1024, shards_.size());
    }
    add_shard(file, pending_.num_records(), static_cast<int64_t>(pending_.tokens.size()));
    state_ = state;
    pending_ = {};
  }

  const fs::path folder_;
  const Json recipe_;
  const StoreOptions options_;
  const std::string hash_;
  Json shards_ = Json::array(), state_;
  int64_t num_records_ = 0, num_tokens_ = 0;
  RecordColumns pending_;
};

}  // namespace

std::unique_ptr<DatasetWriter> create_dataset(const fs::path& folder, const Json& recipe,
                                              const StoreOptions& options) {
  return std::make_unique<Hdf5DatasetWriter>(folder, recipe, options);
}

}  // namespace predgen
