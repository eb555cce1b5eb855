#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/token_ids.h"

namespace predgen {

struct Message {
  std::string role;     // "system", "user" or "assistant"
  std::string content;  // UTF-8
  TokenIds ids{};       // when not empty: used instead of encoding `content` (a generated answer)
};

/// Text to ids and back. Thread-safe after construction.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Plain text: a typed "<|im_end|>" gives text ids, never the control id. Adds no special
  /// tokens. UserError on ill-formed UTF-8.
  virtual TokenIds encode(std::string_view text) const = 0;

  /// Like encode(), but special tokens named in the text become their ids (--parse-special).
  virtual TokenIds encode_special(std::string_view text) const = 0;

  /// Skips special tokens unless `keep_special`; unknown ids are a UserError. The bytes may end
  /// inside a UTF-8 character when the tokens do; StreamingText joins pieces.
  virtual std::string decode(TokenSpan tokens, bool keep_special = false) const = 0;

  /// The model's chat template over `messages`, `add_generation_prompt` ends it where the
  /// assistant's answer begins. The only place that adds special tokens. Stable under growth: the
  /// ids of a history stay a prefix when messages are appended.
  /// UserError for an empty list or a role that the template does not have.
  virtual TokenIds render_chat(const std::vector<Message>& messages,
                               bool add_generation_prompt = true) const = 0;

  /// Ends an assistant answer: from generation_config.json / config.json and the template.
  virtual const TokenIds& stop_tokens() const = 0;

  /// Ids are in [0, vocab_size()). The model's own vocabulary may be larger (padded).
  virtual int64_t vocab_size() const = 0;

  /// Hash of every file that decides about ids; part of a dataset's manifest.
  virtual std::string content_hash() const = 0;
};

/// Reads tokenizer.json, tokenizer_config.json, generation_config.json, config.json of a Hugging
/// Face folder; the first two decide the ids. UserError names the missing file or field.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& folder);

}  // namespace predgen
