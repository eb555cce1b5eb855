#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "core/error.h"
#include "data/dataset_store.h"
#include "data/hdf5_file.h"
#include "data/hdf5_store.h"

namespace predgen::data {
namespace {

/// Locates a record in concatenated parts.
class PartIndex {
 public:
  struct Place {
    size_t part = 0;
    int64_t index = 0;  // within the part
  };

  void add(int64_t part_size) { ends_.push_back(size() + part_size); }
  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  /// `index` in [0, size()).
  Place find(int64_t index) const {
    PREDGEN_CHECK(index >= 0 && index < size(), "record {} of {}", index, size());
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    return {static_cast<size_t>(end - ends_.begin()),
            index - (end == ends_.begin() ? 0 : *(end - 1))};
  }

 private:
  std::vector<int64_t> ends_;  // of each part: the first index after it
};

/// The sizes of a shard's records, kept compactly: 16 bytes per record and 8 per block.
class RecordSizes {
 public:
  int64_t size() const { return static_cast<int64_t>(records_.size()); }
  RecordSize at(size_t index) const;

 private:
  friend class OpenShard;
  struct Sizes {
    int32_t tokens, prompt_length, first_block;
    bool has_branches;
  };
  struct Block {
    int32_t tokens, num_states;
  };
  std::vector<Sizes> records_;
  std::vector<Block> blocks_;
};

/// A shard's open file and columns, none of which stay in memory. Using or destroying it requires
/// hdf5_mutex().
class OpenShard {
 public:
  /// Error if it is not a complete shard; UserError if it cannot be opened.
  explicit OpenShard(const std::filesystem::path& file);
  /// Error if the columns are inconsistent.
  RecordSizes sizes() const;
  Record read(int64_t index) const;

 private:
  Hdf5Handle file_, conversation_id_, round_, prompt_length_, tokens_, loss_mask_, state_tokens_;
  Hdf5Handle id_offsets_, token_offsets_, block_offsets_, state_offsets_, state_token_offsets_;
  std::optional<Hdf5Handle> branches_{}, branch_offsets_{};  // none: an older shard
};

std::vector<int64_t> all_of(hid_t column) {
  return read_entries<int64_t>(column, 0, column_size(column));
}

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // RecordSizes keeps 32 bits

/// Offsets into a column of `size` entries; Error unless there are `count` + 1, from 0 to `size`,
/// and each at least `step` above the one before.
void check_offsets(const char* name, const std::vector<int64_t>& offsets, int64_t count,
                   int64_t size, int64_t step = 0) {
  const auto fails = [&](const char* why) { throw Error("{} {}", name, why); };
  if (std::ssize(offsets) != count + 1) fails("has not one entry more than there are pieces");
  if (offsets.front() != 0) fails("does not begin at 0");
  if (offsets.back() != size) fails("does not end where the next column does");
  for (size_t i = 1; i < offsets.size(); ++i) {
    // In this order, no difference overflows.
    if (offsets[i] < 0 || offsets[i] > size || offsets[i] - offsets[i - 1] < step) {
      fails("does not rise");
    }
    if (offsets[i] - offsets[i - 1] > kMost) fails("has a piece that is too long");
  }
}

/// Error unless they rise within the tokens of their record.
void check_branches(std::span<const int64_t> branches, int64_t num_tokens) {
  int64_t last = 0;
  for (const int64_t begin : branches) {
    if (begin <= last || begin >= num_tokens) throw Error("branches are not within their record");
    last = begin;
  }
}

/// The end of the entry before `index`, and the ends of the `count` entries from `index` on.
std::vector<int64_t> ends(hid_t offsets, int64_t index, int64_t count) {
  return read_entries<int64_t>(offsets, index, index + count + 1);
}

RecordSize RecordSizes::at(size_t index) const {
  const Sizes& record = records_.at(index);
  const size_t end = index + 1 < records_.size()
                         ? static_cast<size_t>(records_[index + 1].first_block)
                         : blocks_.size();
  RecordSize size{.tokens = record.tokens,
                  .prompt_length = record.prompt_length,
                  .has_branches = record.has_branches};
  for (auto block = static_cast<size_t>(record.first_block); block < end; ++block) {
    size.blocks.push_back(
        {.tokens = blocks_[block].tokens, .num_states = blocks_[block].num_states});
  }
  return size;
}

OpenShard::OpenShard(const std::filesystem::path& file)
    : file_(open_hdf5(file)),
      conversation_id_(open_column(file_, "conversation_id")),
      round_(open_column(file_, "round")),
      prompt_length_(open_column(file_, "prompt_length")),
      tokens_(open_column(file_, "tokens")),
      loss_mask_(open_column(file_, "loss_mask")),
      state_tokens_(open_column(file_, "state_tokens")),
      id_offsets_(open_column(file_, "conversation_id_offsets")),
      token_offsets_(open_column(file_, "token_offsets")),
      block_offsets_(open_column(file_, "block_offsets")),
      state_offsets_(open_column(file_, "state_offsets")),
      state_token_offsets_(open_column(file_, "state_token_offsets")) {
  if (!has_column(file_, "branches")) return;
  branches_.emplace(open_column(file_, "branches"));
  branch_offsets_.emplace(open_column(file_, "branch_offsets"));
}

RecordSizes OpenShard::sizes() const {
  const std::vector<int64_t> prompt_lengths = all_of(prompt_length_),
                             tokens = all_of(token_offsets_), blocks = all_of(block_offsets_),
                             states = all_of(state_offsets_),
                             state_tokens = all_of(state_token_offsets_);
  const int64_t num_records = std::ssize(prompt_lengths);
  if (column_size(round_) != num_records) throw Error("round has not one entry for each record");
  if (column_size(loss_mask_) != column_size(tokens_)) {
    throw Error("loss_mask has not one entry for each token");
  }
  check_offsets("conversation_id_offsets", all_of(id_offsets_), num_records,
                column_size(conversation_id_));
  check_offsets("token_offsets", tokens, num_records, column_size(tokens_));
  const int64_t num_blocks = column_size(state_offsets_) - 1;
  check_offsets("block_offsets", blocks, num_records, num_blocks);
  const int64_t num_states = column_size(state_token_offsets_) - 1;
  check_offsets("state_offsets", states, num_blocks, num_states, /*step=*/1);
  check_offsets("state_token_offsets", state_tokens, num_states, column_size(state_tokens_));
  std::vector<int64_t> branches, branch_ends(prompt_lengths.size() + 1);
  if (branches_) {
    branches = all_of(*branches_);
    branch_ends = all_of(*branch_offsets_);
    check_offsets("branch_offsets", branch_ends, num_records, std::ssize(branches));
  }
  if (num_blocks > kMost) throw Error("there are more than {} blocks", kMost);

  RecordSizes sizes;
  for (size_t i = 0; i < prompt_lengths.size(); ++i) {
    if (prompt_lengths[i] < 0 || prompt_lengths[i] > tokens[i + 1] - tokens[i]) {
      throw Error("prompt_length {} of record {} is not within its tokens", prompt_lengths[i], i);
    }
    const auto first_branch = static_cast<size_t>(branch_ends[i]);
    const auto num_branches = static_cast<size_t>(branch_ends[i + 1]) - first_branch;
    check_branches(std::span(branches).subspan(first_branch, num_branches),
                   tokens[i + 1] - tokens[i]);
    sizes.records_.push_back({.tokens = static_cast<int32_t>(tokens.at(i + 1) - tokens.at(i)),
                              .prompt_length = static_cast<int32_t>(prompt_lengths[i]),
                              .first_block = static_cast<int32_t>(blocks.at(i)),
                              .has_branches = num_branches > 0});
  }
  for (size_t block = 0; block + 1 < states.size(); ++block) {
    const auto first = static_cast<size_t>(states[block]);
    const int64_t length = state_tokens[first + 1] - state_tokens[first];
    for (auto state = first; state < static_cast<size_t>(states[block + 1]); ++state) {
      if (state_tokens[state + 1] - state_tokens[state] != length) {
        throw Error("state_token_offsets: the states of block {} have different lengths", block);
      }
    }
    sizes.blocks_.push_back(
        {.tokens = static_cast<int32_t>(length),
         .num_states = static_cast<int32_t>(states[block + 1] - states[block])});
  }
  return sizes;
}

Record OpenShard::read(int64_t index) const {
  Record record;
  const std::vector<int64_t> id_ends = ends(id_offsets_, index, 1);
  const auto id = read_entries<uint8_t>(conversation_id_, id_ends[0], id_ends[1]);
  record.conversation_id.assign(id.begin(), id.end());
  record.round = read_entries<int64_t>(round_, index, index + 1)[0];
  record.prompt_length = read_entries<int64_t>(prompt_length_, index, index + 1)[0];
  const std::vector<int64_t> token_ends = ends(token_offsets_, index, 1);
  const auto tokens = read_entries<int32_t>(tokens_, token_ends[0], token_ends[1]);
  record.tokens.assign(tokens.begin(), tokens.end());
  record.loss_mask = read_entries<uint8_t>(loss_mask_, token_ends[0], token_ends[1]);
  if (branches_) {
    const std::vector<int64_t> branch_ends = ends(*branch_offsets_, index, 1);
    record.branches = read_entries<int64_t>(*branches_, branch_ends[0], branch_ends[1]);
  }

  const std::vector<int64_t> block_ends = ends(block_offsets_, index, 1);
  if (block_ends[0] == block_ends[1]) return record;
  const std::vector<int64_t> state_ends =
      ends(state_offsets_, block_ends[0], block_ends[1] - block_ends[0]);
  const int64_t first_state = state_ends.front();
  const std::vector<int64_t> state_token_ends =
      ends(state_token_offsets_, first_state, state_ends.back() - first_state);
  const auto state_tokens =
      read_entries<int32_t>(state_tokens_, state_token_ends.front(), state_token_ends.back());
  for (size_t block = 0; block + 1 < state_ends.size(); ++block) {
    TrajectoryBlock& out = record.blocks.emplace_back();
    for (int64_t s = state_ends[block]; s < state_ends[block + 1]; ++s) {
      const auto state = static_cast<size_t>(s - first_state);
      const auto place = [&](size_t end) {
        return state_tokens.begin() + (state_token_ends[end] - state_token_ends.front());
      };
      out.states.emplace_back(place(state), place(state + 1));
    }
  }
  return record;
}

class JoinedDataset : public DatasetReader {
 public:
  explicit JoinedDataset(const std::vector<std::filesystem::path>& folders) {
    PREDGEN_CHECK(!folders.empty(), "no dataset");
    manifest_ = Json::array();
    for (const std::filesystem::path& folder : folders) {
      parts_.push_back(open_dataset(folder));
      index_.add(parts_.back()->size());
      manifest_.push_back(parts_.back()->manifest());
    }
  }

  int64_t size() const override { return index_.size(); }
  const Json& manifest() const override { return manifest_; }

  Record read(int64_t index) const override {
    const auto [part, place] = index_.find(index);
    return parts_[part]->read(place);
  }

  RecordSize size_of(int64_t index) const override {
    const auto [part, place] = index_.find(index);
    return parts_[part]->size_of(place);
  }

 private:
  std::vector<std::unique_ptr<DatasetReader>> parts_;
  PartIndex index_;
  Json manifest_;
};

}  // namespace

std::unique_ptr<DatasetReader> open_datasets(const std::vector<std::filesystem::path>& folders) {
  return std::make_unique<JoinedDataset>(folders);
}

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
