#pragma once

#include <array>
#include <string>
#include <string_view>

#include "text/tokenize/tokenizer_json.h"

namespace predgen {

/// What a family of byte-level tokenizers does to a text before it merges bytes, as its
/// tokenizer.json has it; a GGUF file has the family's name only.
struct GgufWords {
  std::string_view name;              // tokenizer.ggml.pre
  std::array<const char*, 4> splits;  // patterns whose matches are words, one after another
  bool has_gpt2_words = false;        // then GPT-2's
  bool has_nfc = false;               // normalisation before all that
  bool takes_whole_words = false;     // a word of the vocabulary is not merged ("ignore_merges")
  bool adds_begin = false;            // unless tokenizer.ggml.add_bos_token says otherwise
};

/// The name of the family that does what `tokenizer` does; UserError naming `where` for none.
std::string_view name_gguf_words(const TokenizerJson& tokenizer, const std::string& where);

/// UserError naming `where` and the names that are known.
const GgufWords& find_gguf_words(std::string_view name, const std::string& where);

}  // namespace predgen
