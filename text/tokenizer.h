#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_ids.h"
#include "text/tools/tool_call.h"

namespace predgen {

struct Message {
  std::string role;     // "system", "user", "assistant", or "tool": a called function's result
  std::string content;  // UTF-8
  TokenIds ids{};       // when not empty: used instead of encoding `content` (a generated answer)
  std::vector<ToolCall>
      tool_calls{};            // of an assistant, after the content; then `ids` are not used
  std::string tool_call_id{};  // of a tool: the call it answers
  std::string thought{};       // of an assistant, before the content; templates may drop it
};

/// The special tokens that a tokenizer puts around plain text outside a chat: what transformers'
/// tokenizer(text) adds.
struct TextFrame {
  TokenIds before, after;
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

  /// The tokens around a plain text for the model to continue or score; encode() adds none.
  virtual const TextFrame& text_frame() const = 0;

  /// Skips special tokens unless `keep_special`; unknown ids are a UserError. The bytes may end
  /// inside a UTF-8 character when the tokens do; StreamingText joins pieces. The text is exactly
  /// that of the tokens: "clean_up_tokenization_spaces" of tokenizer_config.json is ignored.
  virtual std::string decode(TokenSpan tokens, bool keep_special = false) const = 0;

  /// Like decode(), for tokens that continue a text. Some vocabularies mark the beginning of words
  /// with a space, which decode() drops from a text's first word.
  virtual std::string decode_next(TokenSpan tokens, bool keep_special = false) const = 0;

  /// The model's chat template over `messages`, `add_generation_prompt` ends it where the
  /// assistant's answer begins. The only place that adds special tokens. Whether the ids of a
  /// history stay a prefix when messages are appended is up to the template (ChatTemplate).
  /// `tools`: the functions that the model is told it may call; a model may have a template of its
  /// own for them. `variables`: more variables of the
  /// template, as a JSON object (thinking_switch()); empty: none. UserError for an empty list,
  /// other roles, or an order of roles that the template rejects.
  virtual TokenIds render_chat(const std::vector<Message>& messages,
                               bool add_generation_prompt = true, const ToolSet& tools = {},
                               const std::string& variables = {}) const = 0;

  /// The template's variables that make the model think before it answers, or not; empty: the
  /// template has no such switch.
  virtual std::string thinking_switch(bool thinks) const = 0;

  /// How the model writes calls; kNone: it has no chat template, or calls in an unknown form.
  virtual ToolFormat tool_format() const = 0;

  /// Tokens that end an answer: from generation_config.json / config.json and the template.
  virtual const TokenIds& stop_tokens() const = 0;

  /// The token that the chat template puts after an answer that directly follows the generation
  /// prompt; none if there is no template, or it places answers differently.
  virtual std::optional<TokenId> answer_end() const = 0;

  /// Ids are in [0, vocab_size()). The model's own vocabulary may be larger (padded).
  virtual int64_t vocab_size() const = 0;

  /// Hash of every file that determines ids; part of a dataset's manifest.
  virtual std::string content_hash() const = 0;
};

struct TokenizerFiles;

/// The tokenizer that these files describe: a tokenizer.json as the library `tokenizers` reads it,
/// a tokenizer.model as sentencepiece does. A checkpoint has the files
/// (Checkpoint::read_tokenizer()). UserError names the file and the field that is wrong.
std::unique_ptr<Tokenizer> load_tokenizer(const TokenizerFiles& files);

}  // namespace predgen
