#pragma once

#include <array>
#include <string>
#include <string_view>

#include "text/tokenize/tokenizer_json.h"

namespace predgen {

/// What a family of byte-level tokenizers does to a text before merging bytes, as in its
/// tokenizer.json; a GGUF file holds only the family's name.
struct GgufWords {
  std::string_view name;              // tokenizer.ggml.pre
  std::array<const char*, 4> splits;  // patterns whose matches are words, applied in turn
  bool has_gpt2_words = false;        // then GPT-2's pattern
  bool has_nfc = false;               // NFC normalisation comes first
  bool takes_whole_words = false;     // a word of the vocabulary is not merged ("ignore_merges")
  bool adds_begin = false;            // unless tokenizer.ggml.add_bos_token says otherwise
};

/// The name of the family that matches `tokenizer`; UserError naming `where` if none does.
std::string_view name_gguf_words(const TokenizerJson& tokenizer, const std::string& where);

/// UserError naming `where` and the known names.
const GgufWords& find_gguf_words(std::string_view name, const std::string& where);

}  // namespace predgen
