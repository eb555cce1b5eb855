#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/record.h"

namespace predgen::data {

/// Records as flat columns: the contents of a shard.
struct RecordColumns {
  std::vector<uint8_t> conversation_id, loss_mask;
  std::vector<int32_t> tokens, state_tokens;
  std::vector<int64_t> round, prompt_length;
  std::vector<int64_t> conversation_id_offsets{0}, token_offsets{0}, block_offsets{0},
      state_offsets{0}, state_token_offsets{0};

  int64_t num_records() const { return static_cast<int64_t>(round.size()); }
  void append(const Record& record);
  /// Writes a whole HDF5 file, flushed and closed but not yet fsynced. Takes hdf5_mutex().
  void write(const std::filesystem::path& file, const std::string& recipe_hash,
             const std::string& state) const;
};

}  // namespace predgen::data
