#pragma once

#include <array>
#include <string>
#include <string_view>

#include "checkpoint/gguf_vocabulary.h"
#include "tensors/gguf_metadata.h"
#include "text/tokenize/tokenizer_files.h"

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

/// The tokenizer.json that a file with tokenizer.ggml.model "gpt2" was converted from: a byte-level
/// BPE. tokenizer.ggml.pre names the family, whose rules for splitting words are not in the file.
TokenizerJson read_gguf_byte_level(const GgufMetadata& metadata, const GgufVocabulary& vocabulary);

/// The same of "gemma4": a BPE of whole texts whose spaces are U+2581, with tokens of bytes for
/// characters that have none.
TokenizerJson read_gguf_gemma4(const GgufMetadata& metadata, const GgufVocabulary& vocabulary);
/// Whether these are the fields of such a tokenizer.json.
bool is_gguf_gemma4(const Json& fields);

}  // namespace predgen
