#pragma once

#include "data/conversation.h"

namespace predgen::data {

/// Parquet in the column layout of lmsys-chat-1m, any codec that the Arrow library has (snappy and
/// zstd among them). Only in builds with PREDGEN_PARQUET.
std::unique_ptr<ConversationReader> open_parquet(const std::filesystem::path& file,
                                                 BadRows bad_rows);

}  // namespace predgen::data
