#include "data/hdf5_store.h"

#include <fstream>
#include <limits>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/version.h"
#include "data/dataset_store.h"
#include "data/hdf5_file.h"

namespace predgen::data {

namespace fs = std::filesystem;

std::string hash_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw cannot_open(file);
  Hasher hasher;
  std::string piece(1 << 22, '\0');
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hasher.add(std::string_view(piece).substr(0, static_cast<size_t>(stream.gcount())));
  }
  return hasher.hex();
}

Json hash_files(const std::vector<fs::path>& files) {
  Json hashes = Json::array();
  for (const fs::path& file : files) {
    hashes.push_back({{"file", file.filename().string()}, {"hash", hash_file(file)}});
  }
  return hashes;
}

std::string recipe_hash(const Json& recipe) { return Hasher().add(recipe.dump()).hex(); }

namespace {

/// "seed: 1 there, 2 here; ..." for the first five leaves in which two recipes differ.
std::string recipe_difference(const Json& there, const Json& here) {
  const Json before = there.flatten(), after = here.flatten();
  std::string text;
  int count = 0;
  const auto add = [&](const std::string& key, const std::string& old_value,
                       const std::string& new_value) {
    if (++count > 5) return;
    std::string name = key.substr(key.empty() ? 0 : 1);
    for (char& c : name) c = c == '/' ? '.' : c;
    text += fmt::format("{}{}: {} there, {} here", text.empty() ? "" : "; ", name, old_value,
                        new_value);
  };
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) {
      add(key, value.dump(), "nothing");
    } else if (after.at(key) != value) {
      add(key, value.dump(), after.at(key).dump());
    }
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) add(key, "nothing", value.dump());
  }
  if (count > 5) text += fmt::format("; and {} more", count - 5);
  return text.empty() ? "nothing but the order of keys" : text;
}

}  // namespace

void check_same_recipe(const fs::path& folder, const Json& there, const Json& here) {
  if (there == here) return;
  throw UserError("{}: holds a dataset of another recipe ({}); remove it or choose another folder",
                  folder.string(), recipe_difference(there, here));
}

bool dataset_is_complete(const fs::path& folder, const Json& recipe) {
  if (!fs::exists(folder / "manifest.json")) return false;
  return open_dataset(folder)->manifest().at("recipe") == recipe;
}

namespace {

/// Rejects a folder that holds anything but an unfinished dataset of this recipe.
void check_folder(const fs::path& folder, const Json& recipe, bool resume) {
  fs::remove(folder / "recipe.json.tmp");  // all that a build killed at its start leaves behind
  for (const char* name : {"manifest.json", "recipe.json"}) {
    if (!fs::exists(folder / name)) continue;
    Json there = read_json(folder / name);
    if (name == std::string("manifest.json")) {
      there = json_get<Json>(there, "recipe", (folder / name).string());
    }
    check_same_recipe(folder, there, recipe);
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
    const bool is_new = !fs::exists(folder);
    make_folder(folder);
    check_folder(folder, recipe, options.resume);
    if (fs::exists(folder / "recipe.json")) {
      find_shards();
    } else {
      write_file(folder / "recipe.json", recipe.dump(2) + "\n");
      is_new_ = is_new;
    }
  }

  /// A build that failed before its first shard leaves nothing that the next one would reject.
  ~Hdf5DatasetWriter() override {
    if (!is_new_ || finished_ || !shards_.empty()) return;
    std::error_code ignored;
    // A folder with a held-out part can be resumed.
    if (std::distance(fs::directory_iterator(folder_, ignored), {}) != 1) return;
    fs::remove(folder_ / "recipe.json", ignored);
    fs::remove(folder_, ignored);
  }

  void append(const Record& record) override {
    pending_.append(record);
    if (pending_.num_records() >= options_.records_per_shard) publish();
  }

  void finish(const Json& counters) override {
    if (pending_.num_records() > 0) publish();
    write_manifest(folder_, recipe_, shards_, counters);
    finished_ = true;
  }

  int64_t size() const override { return num_records_ + pending_.num_records(); }

 private:
  /// Keeps the shards that a killed build has finished; removes its half-written one.
  void find_shards() {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() == ".tmp") fs::remove(entry.path());
    }
    while (fs::exists(next_file())) {
      const fs::path file = next_file();
      try {
        shards_.push_back(read_shard_info(file, hash_));
      } catch (const UserError&) {
        throw;
      } catch (const Error& error) {
        throw UserError(
            "{}: not a shard of this dataset ({}); remove the folder {} and start again",
            file.string(), error.what(), folder_.string());
      }
      num_records_ += shards_.back().num_records;
    }
  }

  fs::path next_file() const { return folder_ / shard_name(static_cast<int64_t>(shards_.size())); }

  void publish() {
    const fs::path file = next_file();
    write_shard(file, pending_, hash_, Json());
    shards_.push_back(read_shard_info(file, hash_));
    num_records_ += pending_.num_records();
    pending_ = {};
  }

  const fs::path folder_;
  const Json recipe_;
  const StoreOptions options_;
  const std::string hash_;
  std::vector<ShardInfo> shards_;
  int64_t num_records_ = 0;
  RecordColumns pending_;
  bool is_new_ = false;  // the folder did not exist before
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<DatasetWriter> create_dataset(const fs::path& folder, const Json& recipe,
                                              const StoreOptions& options) {
  return std::make_unique<Hdf5DatasetWriter>(folder, recipe, options);
}

namespace {

void append_tokens(std::vector<int32_t>& column, const TokenIds& tokens) {
  for (const TokenId token : tokens) {
    PREDGEN_CHECK(token >= 0 && token <= std::numeric_limits<int32_t>::max(), "token {}", token);
    column.push_back(static_cast<int32_t>(token));
  }
}

}  // namespace

void RecordColumns::append(const Record& record) {
  PREDGEN_CHECK(record.loss_mask.size() == record.tokens.size(), "mask of {} for {} tokens",
                record.loss_mask.size(), record.tokens.size());
  PREDGEN_CHECK(record.prompt_length >= 0 &&
                    record.prompt_length <= static_cast<int64_t>(record.tokens.size()),
                "prompt length {}", record.prompt_length);
  const auto size = [](const auto& column) { return static_cast<int64_t>(column.size()); };
  conversation_id.insert(conversation_id.end(), record.conversation_id.begin(),
                         record.conversation_id.end());
  conversation_id_offsets.push_back(size(conversation_id));
  append_tokens(tokens, record.tokens);
  loss_mask.insert(loss_mask.end(), record.loss_mask.begin(), record.loss_mask.end());
  token_offsets.push_back(size(tokens));
  branches.insert(branches.end(), record.branches.begin(), record.branches.end());
  branch_offsets.push_back(size(branches));
  for (const TrajectoryBlock& block : record.blocks) {
    for (const TokenIds& state : block.states) {
      append_tokens(state_tokens, state);
      state_token_offsets.push_back(size(state_tokens));
    }
    state_offsets.push_back(size(state_token_offsets) - 1);
  }
  block_offsets.push_back(size(state_offsets) - 1);
  prompt_length.push_back(record.prompt_length);
  round.push_back(record.round);
}

void RecordColumns::write(const std::filesystem::path& file, const std::string& recipe_hash,
                          const std::string& state) const {
  const Lock lock(hdf5_mutex());
  Hdf5Handle handle = create_hdf5(file);
  write_text(handle, "recipe_hash", recipe_hash);
  write_text(handle, "state", state);
  write_column(handle, "conversation_id", conversation_id);
  write_column(handle, "conversation_id_offsets", conversation_id_offsets);
  write_column(handle, "round", round);
  write_column(handle, "prompt_length", prompt_length);
  write_column(handle, "tokens", tokens);
  write_column(handle, "loss_mask", loss_mask);
  write_column(handle, "token_offsets", token_offsets);
  write_column(handle, "branches", branches);
  write_column(handle, "branch_offsets", branch_offsets);
  write_column(handle, "block_offsets", block_offsets);
  write_column(handle, "state_offsets", state_offsets);
  write_column(handle, "state_token_offsets", state_token_offsets);
  write_column(handle, "state_tokens", state_tokens);
  if (H5Fflush(handle, H5F_SCOPE_GLOBAL) < 0) {
    throw Error("{}: cannot be written (disk full?)", file.string());
  }
  handle.close("closing " + file.string());
}

namespace fs = std::filesystem;

std::string shard_name(int64_t index) { return fmt::format("shard-{:05}.h5", index); }

void write_shard(const fs::path& file, const RecordColumns& records, const std::string& recipe_hash,
                 const Json& state) {
  const fs::path temporary = file.string() + ".tmp";
  try {
    records.write(temporary, recipe_hash, state.dump());
    publish_file(temporary, file);
  } catch (const Error& error) {
    std::error_code ignored;
    const uintmax_t num_free = fs::space(file.parent_path(), ignored).available;
    fs::remove(temporary, ignored);  // it may be what fills the disk
    throw Error(
        "{}: cannot be written ({}; {} kB were left on the disk); the other shards are kept: run "
        "it again to go on",
        file.string(), error.what(), num_free / 1024);
  }
}

ShardInfo read_shard_info(const fs::path& file, const std::string& recipe_hash) {
  ShardInfo info{.file = file.filename().string(), .hash = {}, .state = {}};
  {
    const Lock lock(hdf5_mutex());
    const Hdf5Handle handle = open_hdf5(file);
    if (read_text(handle, "recipe_hash") != recipe_hash) throw Error("wrong recipe");
    info.state = parse_json(read_text(handle, "state"), file.string());
    info.num_records = column_size(open_column(handle, "round"));
    info.num_tokens = column_size(open_column(handle, "tokens"));
  }
  info.num_bytes = static_cast<int64_t>(fs::file_size(file));
  info.hash = hash_file(file);
  return info;
}

void write_manifest(const fs::path& folder, const Json& recipe, std::span<const ShardInfo> shards,
                    const Json& counters) {
  Json list = Json::array();
  int64_t num_records = 0, num_tokens = 0;
  for (const ShardInfo& shard : shards) {
    list.push_back({{"file", shard.file},
                    {"num_records", shard.num_records},
                    {"num_bytes", shard.num_bytes},
                    {"hash", shard.hash}});
    num_records += shard.num_records;
    num_tokens += shard.num_tokens;
  }
  if (num_records == 0) {
    throw UserError("{}: no record is left, the dataset would be empty; counters: {}",
                    folder.string(), counters.dump());
  }
  const Json manifest = {{"format", "predgen-dataset"},
                         {"version", 1},
                         {"predgen", program_version()},
                         {"recipe", recipe},
                         {"recipe_hash", recipe_hash(recipe)},
                         {"num_records", num_records},
                         {"num_tokens", num_tokens},
                         {"shards", list},
                         {"counters", counters}};
  write_file(folder / "manifest.json", manifest.dump(2) + "\n");
  fs::remove(folder / "recipe.json");
}

}  // namespace predgen::data
