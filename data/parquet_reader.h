#pragma once

#include "data/conversation.h"

namespace predgen::data {

/// Parquet with columns as the keys of data/corpus_row.h, any codec that the Arrow library has
/// (snappy and zstd among them), dictionaries and fixed-size lists included. UserError for a file
/// that decodes to far more than its size. Only in builds with PREDGEN_PARQUET.
std::unique_ptr<ConversationReader> open_parquet(const std::filesystem::path& file,
                                                 BadRows bad_rows);

}  // namespace predgen::data
