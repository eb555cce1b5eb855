#include "data/open_shard.h"

#include "core/error.h"

namespace predgen::data {
namespace {

std::vector<int64_t> all_of(hid_t column) {
  return read_entries<int64_t>(column, 0, column_size(column));
}

/// The end of the entry before `index`, and the ends of the `count` entries from `index` on.
std::vector<int64_t> ends(hid_t offsets, int64_t index, int64_t count) {
  return read_entries<int64_t>(offsets, index, index + count + 1);
}

}  // namespace

RecordSize RecordSizes::at(size_t index) const {
  const Sizes& record = records_.at(index);
  const size_t end = index + 1 < records_.size()
                         ? static_cast<size_t>(records_[index + 1].first_block)
                         : blocks_.size();
  RecordSize size{.tokens = record.tokens, .prompt_length = record.prompt_length};
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
      state_token_offsets_(open_column(file_, "state_token_offsets")) {}

RecordSizes OpenShard::sizes() const {
  const std::vector<int64_t> prompt_lengths = all_of(prompt_length_),
                             tokens = all_of(token_offsets_), blocks = all_of(block_offsets_),
                             states = all_of(state_offsets_),
                             state_tokens = all_of(state_token_offsets_);
  RecordSizes sizes;
  for (size_t i = 0; i < prompt_lengths.size(); ++i) {
    sizes.records_.push_back({.tokens = static_cast<int32_t>(tokens.at(i + 1) - tokens.at(i)),
                              .prompt_length = static_cast<int32_t>(prompt_lengths[i]),
                              .first_block = static_cast<int32_t>(blocks.at(i))});
  }
  for (size_t block = 0; block + 1 < states.size(); ++block) {
    const auto fixed_point = static_cast<size_t>(states[block + 1] - 1);
    sizes.blocks_.push_back(
        {.tokens =
             static_cast<int32_t>(state_tokens.at(fixed_point + 1) - state_tokens.at(fixed_point)),
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

}  // namespace predgen::data
