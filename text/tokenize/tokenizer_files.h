#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/tokenize/tokenizer_json.h"

namespace predgen {

/// Names of all files of a Hugging Face folder that are its tokenizer, those of older forms too.
std::span<const std::string_view> tokenizer_file_names();

/// Whether `folder` has a tokenizer that load_tokenizer() can read.
bool has_tokenizer(const std::filesystem::path& folder);

/// The files of a Hugging Face folder that decide about ids, the chat template and stop tokens.
/// Absent ones are null.
struct TokenizerFiles {
  std::filesystem::path folder;
  std::optional<TokenizerJson> tokenizer;              // tokenizer.json
  std::optional<std::filesystem::path> sentencepiece;  // tokenizer.model, if there is no other
  Json tokenizer_config, generation_config, config;
  Json added_tokens;  // added_tokens.json of older folders: token to id
  std::optional<std::string> chat_template;
  std::string chat_template_file;
  bool is_given_template = false;  // by the caller: no file of the folder
  std::string hash;                // of all that decides ids

  /// A `chat_template` file, if not empty, stands in for the folder's template. UserError for a
  /// folder without tokenizer.json and tokenizer.model, and for malformed files.
  static TokenizerFiles read(const std::filesystem::path& folder,
                             const std::filesystem::path& chat_template = {});

  std::string path_of(const char* file) const { return (folder / file).string(); }

  /// The token that tokenizer_config.json names under `key`: "x" or {"content": "x"}.
  std::optional<std::string> named_token(const char* key) const;
  /// All tokens that tokenizer_config.json names as special.
  std::vector<std::string> special_tokens() const;
};

}  // namespace predgen
