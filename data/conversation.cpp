#include "data/conversation.h"

#include "data/jsonl_reader.h"
#include "data/parquet_reader.h"

namespace predgen::data {

UserError missing_data(const std::filesystem::path& file) {
  return UserError(
      "{}: no such file; if it is of a public data set, get that as docs/data.md says and set "
      "PREDGEN_DATA to the folder of the data sets",
      file.string());
}

UserError bad_row(const std::filesystem::path& file, int64_t row, const UserError& why) {
  return UserError("{}:{}: {} (--skip-bad-rows skips such rows)", file.string(), row, why.what());
}

std::unique_ptr<ConversationReader> open_conversations(const std::filesystem::path& file,
                                                       BadRows bad_rows) {
  if (!std::filesystem::exists(file)) throw missing_data(file);
  if (file.extension() == ".jsonl") return open_jsonl(file, bad_rows);
  if (file.extension() == ".parquet") {
#ifdef PREDGEN_HAS_PARQUET
    return open_parquet(file, bad_rows);
#else
    throw UserError("{}: this build reads no Parquet; configure it with -DPREDGEN_PARQUET=ON",
                    file.string());
#endif
  }
  if (file.extension() == ".json") {
    throw UserError("{}: a corpus ends in .jsonl or .parquet; jq -c '.[]' makes lines of a list",
                    file.string());
  }
  throw UserError("{}: a corpus ends in .jsonl or .parquet", file.string());
}

}  // namespace predgen::data
