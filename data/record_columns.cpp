#include "data/record_columns.h"

#include <limits>

#include "data/hdf5_file.h"

namespace predgen::data {
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
  write_column(handle, "block_offsets", block_offsets);
  write_column(handle, "state_offsets", state_offsets);
  write_column(handle, "state_token_offsets", state_token_offsets);
  write_column(handle, "state_tokens", state_tokens);
  if (H5Fflush(handle, H5F_SCOPE_GLOBAL) < 0) {
    throw Error("{}: cannot be written (disk full?)", file.string());
  }
  handle.close("closing " + file.string());
}

}  // namespace predgen::data
