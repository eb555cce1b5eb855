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

/// What decides about ids, the chat template and stop tokens, in the terms of the files of a
/// Hugging Face folder. A checkpoint of another format says the same without these files.
struct TokenizerFiles {
  /// What one file says, null if it says nothing, and where it says so, for messages.
  struct Part {
    Json fields;
    std::string where;
  };
  /// A sentencepiece model: the bytes of a tokenizer.model.
  struct Sentencepiece {
    std::string model;
    /// The model's space in front stands in front of every text between special tokens, too,
    /// whatever "legacy" in `tokenizer_config` says.
    bool spaces_after_tokens = false;
  };

  std::string where;                           // the tokenizer is written, for messages
  std::optional<TokenizerJson> tokenizer;      // a tokenizer.json
  std::optional<Sentencepiece> sentencepiece;  // if there is no other
  Part tokenizer_config, generation_config, config;
  Part added_tokens;  // added_tokens.json of older folders: token to id
  std::optional<std::string> chat_template;
  std::string template_where;      // the template is written; if there is none: what has none
  bool is_given_template = false;  // by the caller: the checkpoint has it not
  std::string hash;                // of all that decides ids

  /// Of a Hugging Face folder. A `chat_template` file, if not empty, stands in for the folder's
  /// template. UserError for a folder without tokenizer.json and tokenizer.model, and for malformed
  /// files.
  static TokenizerFiles read(const std::filesystem::path& folder,
                             const std::filesystem::path& chat_template = {});

  /// Puts the template in `file` in the place of the checkpoint's own, and into the hash.
  void give_template(const std::filesystem::path& file);

  /// The token that tokenizer_config.json names under `key`: "x" or {"content": "x"}.
  std::optional<std::string> named_token(const char* key) const;
  /// All tokens that tokenizer_config.json names as special.
  std::vector<std::string> special_tokens() const;
};

}  // namespace predgen
