#include <optional>
#include <string>
#include <vector>

#include "checkpoint/gguf_byte_level.h"
#include "checkpoint/gguf_tokenizer.h"
#include "checkpoint/gguf_vocabulary.h"
#include "core/error.h"
#include "text/tokenize/added_tokens.h"
#include "text/tokenize/sentencepiece_model.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {
namespace {

using Type = GgufVocabulary::Type;

/// By id. Embedding rows without a token get a name.
struct Tokens {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  std::vector<float> scores;  // of sentencepiece

  explicit Tokens(int64_t size) {
    for (int64_t id = 0; id < size; ++id) texts.push_back(fmt::format("[PAD{}]", id));
    types.resize(texts.size(), static_cast<int32_t>(Type::kUnused));
    scores.resize(texts.size(), -1000.0f);  // as in llama.cpp's conversion
  }
  void set(TokenId id, std::string_view text, Type type, const std::string& where) {
    if (id < 0 || id >= static_cast<TokenId>(texts.size())) {
      throw UserError("{}: token {} is beyond the model's {} embeddings", where, id, texts.size());
    }
    texts[static_cast<size_t>(id)] = text;
    types[static_cast<size_t>(id)] = static_cast<int32_t>(type);
  }
  std::optional<TokenId> find(const std::optional<std::string>& text) const {
    for (size_t id = 0; text && id < texts.size(); ++id) {
      if (texts[id] == *text) return static_cast<TokenId>(id);
    }
    return std::nullopt;
  }
};

void add_added(const std::vector<AddedToken>& added, const std::string& where, Tokens& tokens) {
  for (const AddedToken& token : added) {
    tokens.set(token.id, token.content, token.special ? Type::kControl : Type::kUserDefined, where);
  }
}

void add_bpe(const TokenizerFiles& files, Tokens& tokens, GgufContents& contents) {
  const TokenizerJson& tokenizer = *files.tokenizer;
  const bool is_gemma4 = is_gguf_gemma4(tokenizer.fields);
  contents.add("tokenizer.ggml.model", is_gemma4 ? "gemma4" : "gpt2");
  if (!is_gemma4) contents.add("tokenizer.ggml.pre", name_gguf_words(tokenizer, files.where));
  contents.add("tokenizer.ggml.add_space_prefix", false);
  for (const auto& [text, id] : tokenizer.vocabulary) {
    const bool is_byte = is_gemma4 && text.size() == 6 && text.starts_with("<0x");
    tokens.set(id, text, is_byte ? Type::kByte : Type::kNormal, files.where);
  }
  add_added(read_added_tokens(tokenizer.fields, files.tokenizer_config.fields, files.where),
            files.where, tokens);
  std::vector<std::string> merges;
  for (const Json& merge : tokenizer.fields.at("model").at("merges")) {
    merges.push_back(merge.is_array() ? fmt::format("{} {}", merge.at(0).get<std::string>(),
                                                    merge.at(1).get<std::string>())
                                      : merge.get<std::string>());
  }
  contents.add("tokenizer.ggml.merges", merges);
  const TextFrame frame =
      read_post_processor(tokenizer.fields.value("post_processor", Json()), files.where);
  contents.add("tokenizer.ggml.add_bos_token", !frame.before.empty());
}

void add_pieces(const TokenizerFiles& files, Tokens& tokens, GgufContents& contents) {
  const std::string& model = files.sentencepiece->model;
  const SentencepieceSpec spec = SentencepieceSpec::read(model, files.where);
  if (!spec.is_bpe) {
    throw UserError("{}: llama.cpp runs sentencepiece models of the kind BPE alone", files.where);
  }
  contents.add("tokenizer.ggml.model", "llama");
  contents.add("tokenizer.ggml.pre", "default");
  const std::vector<SentencepiecePiece> pieces = read_sentencepiece_pieces(model, files.where);
  for (size_t id = 0; id < pieces.size(); ++id) {
    tokens.set(static_cast<TokenId>(id), pieces[id].text, static_cast<Type>(pieces[id].type),
               files.where);
    tokens.scores[id] = pieces[id].score;
  }
  add_added(read_added_tokens(Json(), files.tokenizer_config.fields, files.where), files.where,
            tokens);
  contents.add("tokenizer.ggml.scores", tokens.scores);
  contents.add("tokenizer.ggml.add_space_prefix", spec.adds_space_in_front);
  const TextFrame frame =
      read_added_ends(files.tokenizer_config.fields, files.tokenizer_config.where,
                      [](const char*) { return TokenId{0}; });
  contents.add("tokenizer.ggml.add_bos_token", !frame.before.empty());
  contents.add("tokenizer.ggml.add_eos_token", !frame.after.empty());
}

}  // namespace

void add_gguf_tokenizer(const TokenizerFiles& files, int64_t vocab_size, GgufContents& contents) {
  Tokens tokens(vocab_size);
  files.tokenizer ? add_bpe(files, tokens, contents) : add_pieces(files, tokens, contents);
  contents.add("tokenizer.ggml.tokens", tokens.texts);
  contents.add("tokenizer.ggml.token_type", tokens.types);
  const std::pair<const char*, const char*> named[] = {
      {"bos_token", "tokenizer.ggml.bos_token_id"},
      {"eos_token", "tokenizer.ggml.eos_token_id"},
      {"unk_token", "tokenizer.ggml.unknown_token_id"},
      {"pad_token", "tokenizer.ggml.padding_token_id"}};
  for (const auto& [name, key] : named) {
    if (const auto id = tokens.find(files.named_token(name))) {
      contents.add(key, static_cast<uint32_t>(*id));
    }
  }
  if (files.chat_template) contents.add(kGgufTemplate, *files.chat_template);
  if (files.tool_template) {
    contents.add(kGgufToolTemplate, files.tool_template->jinja);
    contents.add("tokenizer.chat_templates", std::vector<std::string>{"tool_use"});
  }
}

}  // namespace predgen
