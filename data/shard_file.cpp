#include "data/shard_file.h"

#include <limits>

#include "core/error.h"
#include "core/files.h"
#include "core/version.h"
#include "data/hdf5_file.h"
#include "data/hdf5_store.h"

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
