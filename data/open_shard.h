#pragma once

#include <filesystem>
#include <vector>

#include "data/dataset_store.h"
#include "data/hdf5_file.h"

namespace predgen::data {

/// The sizes of a shard's records, kept compactly: 12 bytes per record and 8 per block.
class RecordSizes {
 public:
  int64_t size() const { return static_cast<int64_t>(records_.size()); }
  RecordSize at(size_t index) const;

 private:
  friend class OpenShard;
  struct Sizes {
    int32_t tokens, prompt_length, first_block;
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
};

}  // namespace predgen::data
