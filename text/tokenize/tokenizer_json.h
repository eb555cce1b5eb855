#pragma once

#include <filesystem>

#include "core/json.h"
#include "text/regex.h"
#include "text/string_map.h"
#include "text/token_ids.h"

namespace predgen {

/// A tokenizer.json. The vocabulary is separate, because Json searches its keys linearly.
struct TokenizerJson {
  Json fields;                    // everything but model.vocab
  StringMap<TokenId> vocabulary;  // model.vocab
};

/// UserError for a missing or malformed file, and for a "model" without usable "vocab".
TokenizerJson read_tokenizer_json(const std::filesystem::path& file);

/// Replacement steps can compound: UserError if `text`, made from `original`, has grown beyond what
/// any normal form or symbol for spaces explains.
void check_growth(std::string_view text, std::string_view original);

/// The "pattern" of a step: {"Regex": ..} or {"String": ..}.
Regex read_pattern(const Json& step, const std::string& where);

}  // namespace predgen
