#include "data/conversation.h"

#include "core/error.h"
#include "data/jsonl_reader.h"
#include "data/parquet_reader.h"

namespace predgen {

std::unique_ptr<ConversationReader> open_conversations(const std::filesystem::path& file,
                                                       BadRows bad_rows) {
  if (!std::filesystem::exists(file)) throw UserError("{}: no such file", file.string());
  if (file.extension() == ".jsonl") return open_jsonl(file, bad_rows);
  if (file.extension() == ".parquet") {
#ifdef PREDGEN_HAS_PARQUET
    return open_parquet(file, bad_rows);
#else
    throw UserError("{}: this build reads no Parquet; configure it with -DPREDGEN_PARQUET=ON",
                    file.string());
#endif
  }
  throw UserError("{}: a corpus ends in .jsonl or .parquet", file.string());
}

}  // namespace predgen
