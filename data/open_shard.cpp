#include "data/open_shard.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace predgen::data {
namespace {

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
  if (num_blocks > kMost) throw Error("there are more than {} blocks", kMost);

  RecordSizes sizes;
  for (size_t i = 0; i < prompt_lengths.size(); ++i) {
    if (prompt_lengths[i] < 0 || prompt_lengths[i] > tokens[i + 1] - tokens[i]) {
      throw Error("prompt_length {} of record {} is not within its tokens", prompt_lengths[i], i);
    }
    sizes.records_.push_back({.tokens = static_cast<int32_t>(tokens.at(i + 1) - tokens.at(i)),
                              .prompt_length = static_cast<int32_t>(prompt_lengths[i]),
                              .first_block = static_cast<int32_t>(blocks.at(i))});
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
