#include "core/error.h"
#include "data/dataset_store.h"
#include "data/hdf5_file.h"
#include "data/hdf5_store.h"
#include "data/part_index.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

/// One open shard: offsets in memory, the long columns read on demand.
class Shard {
 public:
  explicit Shard(const fs::path& path)
      : file_(open_hdf5(path)),
        conversation_id_(open_column(file_, "conversation_id")),
        tokens_(open_column(file_, "tokens")),
        loss_mask_(open_column(file_, "loss_mask")),
        state_tokens_(open_column(file_, "state_tokens")),
        round_(read_column<int64_t>(file_, "round")),
        prompt_length_(read_column<int64_t>(file_, "prompt_length")),
        conversation_id_offsets_(read_column<int64_t>(file_, "conversation_id_offsets")),
        token_offsets_(read_column<int64_t>(file_, "token_offsets")),
        block_offsets_(read_column<int64_t>(file_, "block_offsets")),
        state_offsets_(read_column<int64_t>(file_, "state_offsets")),
        state_token_offsets_(read_column<int64_t>(file_, "state_token_offsets")) {}

  int64_t size() const { return static_cast<int64_t>(round_.size()); }

  Record read(size_t index) const {
    Record record;
    const auto id = read_entries<uint8_t>(conversation_id_, conversation_id_offsets_.at(index),
                                          conversation_id_offsets_.at(index + 1));
    record.conversation_id.assign(id.begin(), id.end());
    record.round = round_.at(index);
    record.prompt_length = prompt_length_.at(index);
    const int64_t begin = token_offsets_.at(index), end = token_offsets_.at(index + 1);
    const auto tokens = read_entries<int32_t>(tokens_, begin, end);
    record.tokens.assign(tokens.begin(), tokens.end());
    record.loss_mask = read_entries<uint8_t>(loss_mask_, begin, end);
    read_blocks(index, record);
    return record;
  }

  RecordSize size_of(size_t index) const {
    RecordSize size{.tokens = token_offsets_.at(index + 1) - token_offsets_.at(index),
                    .prompt_length = prompt_length_.at(index)};
    const auto last_block = static_cast<size_t>(block_offsets_.at(index + 1));
    for (auto block = static_cast<size_t>(block_offsets_.at(index)); block < last_block; ++block) {
      const int64_t states_end = state_offsets_.at(block + 1);
      const auto fixed_point = static_cast<size_t>(states_end - 1);
      size.blocks.push_back({.tokens = state_token_offsets_.at(fixed_point + 1) -
                                       state_token_offsets_.at(fixed_point),
                             .num_states = states_end - state_offsets_.at(block)});
    }
    return size;
  }

 private:
  void read_blocks(size_t index, Record& record) const {
    const auto first_block = static_cast<size_t>(block_offsets_.at(index));
    const auto last_block = static_cast<size_t>(block_offsets_.at(index + 1));
    if (first_block == last_block) return;
    const int64_t first_state = state_offsets_.at(first_block);
    const int64_t last_state = state_offsets_.at(last_block);
    const int64_t begin = state_token_offsets_.at(static_cast<size_t>(first_state));
    const auto tokens = read_entries<int32_t>(
        state_tokens_, begin, state_token_offsets_.at(static_cast<size_t>(last_state)));
    for (size_t block = first_block; block < last_block; ++block) {
      TrajectoryBlock& out = record.blocks.emplace_back();
      for (int64_t s = state_offsets_[block]; s < state_offsets_[block + 1]; ++s) {
        const auto state = static_cast<size_t>(s);
        out.states.emplace_back(tokens.begin() + (state_token_offsets_[state] - begin),
                                tokens.begin() + (state_token_offsets_[state + 1] - begin));
      }
    }
  }

  Hdf5Handle file_, conversation_id_, tokens_, loss_mask_, state_tokens_;
  std::vector<int64_t> round_, prompt_length_, conversation_id_offsets_, token_offsets_,
      block_offsets_, state_offsets_, state_token_offsets_;
};

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
    const std::lock_guard lock(hdf5_mutex());
    shards_.clear();
  }

  int64_t size() const override { return index_.size(); }
  const Json& manifest() const override { return manifest_; }

  Record read(int64_t index) const override {
    const auto [shard, place] = index_.find(index);
    const std::lock_guard lock(hdf5_mutex());
    return shards_[shard].read(static_cast<size_t>(place));
  }

  RecordSize size_of(int64_t index) const override {
    const auto [shard, place] = index_.find(index);
    return shards_[shard].size_of(static_cast<size_t>(place));
  }

 private:
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
    const std::lock_guard lock(hdf5_mutex());
    try {
      shards_.emplace_back(file);
    } catch (const Error& error) {
      throw UserError("{}: not a whole shard ({}); build the dataset again", file.string(),
                      error.what());
    }
    if (shards_.back().size() != json_get<int64_t>(entry, "num_records", where)) {
      throw UserError("{}: holds {} records, its manifest says otherwise; build the dataset again",
                      file.string(), shards_.back().size());
    }
    index_.add(shards_.back().size());
  }

  Json manifest_;
  std::vector<Shard> shards_;
  PartIndex index_;
};

}  // namespace

std::unique_ptr<DatasetReader> open_dataset(const fs::path& folder) {
  return std::make_unique<Hdf5DatasetReader>(folder);
}

}  // namespace predgen
