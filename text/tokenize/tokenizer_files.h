#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/regex.h"
#include "text/string_map.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"

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

/// From the "post_processor" of tokenizer.json: none, ByteLevel, TemplateProcessing,
/// BertProcessing, RobertaProcessing or a Sequence with one of these. Anything else is a UserError.
TextFrame read_post_processor(const Json& post_processor, const std::string& where);

/// From "add_bos_token" and "add_eos_token" of tokenizer_config.json, which count only for folders
/// without a tokenizer.json. `id_of` returns the id of the token that the config names under a key.
TextFrame read_added_ends(const Json& tokenizer_config, const std::string& where,
                          const std::function<TokenId(const char* key)>& id_of);

/// Names of all files of a Hugging Face folder that make up its tokenizer, older forms included.
std::span<const std::string_view> tokenizer_file_names();

/// Whether `folder` has a tokenizer that load_tokenizer() can read.
bool has_tokenizer(const std::filesystem::path& folder);

/// What determines ids, the chat template and stop tokens, as in the files of a Hugging Face
/// folder. A checkpoint of another format gives the same without these files.
struct TokenizerFiles {
  /// The contents of one file, null if there are none, and its location, for messages.
  struct Part {
    Json fields;
    std::string where;
  };
  /// A sentencepiece model: the bytes of a tokenizer.model.
  struct Sentencepiece {
    std::string model;
    /// The model's leading space is also put before every text between special tokens, whatever
    /// "legacy" in `tokenizer_config` says.
    bool spaces_after_tokens = false;
  };

  struct Template {
    std::string jinja, where;
  };

  std::string where;                           // the tokenizer's location, for messages
  std::optional<TokenizerJson> tokenizer;      // a tokenizer.json
  std::optional<Sentencepiece> sentencepiece;  // if there is no tokenizer.json
  Part tokenizer_config, generation_config, config;
  Part added_tokens;  // added_tokens.json of older folders: token to id
  std::optional<std::string> chat_template;
  std::string template_where;  // the template's location; without one: what lacks it
  /// The one called "tool_use", in place of the other where functions are offered.
  std::optional<Template> tool_template;
  bool is_given_template = false;  // by the caller, not from the checkpoint
  std::string hash;                // of everything that determines ids

  /// Reads a Hugging Face folder. A `chat_template` file, if not empty, replaces the folder's
  /// templates. UserError for a folder with neither tokenizer.json nor tokenizer.model, and for
  /// malformed files.
  static TokenizerFiles read(const std::filesystem::path& folder,
                             const std::filesystem::path& chat_template = {});

  /// Replaces the checkpoint's templates with the one in `file`, also in the hash.
  void give_template(const std::filesystem::path& file);

  /// The token that tokenizer_config.json names under `key`: "x" or {"content": "x"}.
  std::optional<std::string> named_token(const char* key) const;
  /// All tokens that tokenizer_config.json marks as special.
  std::vector<std::string> special_tokens() const;
};

}  // namespace predgen
