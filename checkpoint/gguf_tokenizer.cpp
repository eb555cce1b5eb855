#include "checkpoint/gguf_tokenizer.h"

#include <algorithm>
#include <array>

#include "checkpoint/gguf_byte_level.h"
#include "checkpoint/gguf_sentencepiece.h"
#include "checkpoint/gguf_vocabulary.h"
#include "core/error.h"
#include "core/hash.h"
#include "text/stop_tokens.h"
#include "text/utf8.h"

namespace predgen {
namespace {

using Type = GgufVocabulary::Type;

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kTemplate = "tokenizer.chat_template";

// From llama.cpp's list; its other entries belong to unsupported models.
constexpr auto kAnswerEnds = std::to_array<std::string_view>({"<|eot_id|>",
                                                              "<|im_end|>",
                                                              "<|end|>",
                                                              "<end_of_turn>",
                                                              "<turn|>",
                                                              "<|tool_response>",
                                                              "<|endoftext|>",
                                                              "<|eom_id|>",
                                                              "<EOT>",
                                                              "_<EOT>",
                                                              "<|end_of_text|>",
                                                              "<end_of_utterance>",
                                                              "<eos>",
                                                              "</s>",
                                                              "<｜end▁of▁sentence｜>",
                                                              "<|fim_pad|>",
                                                              "<fim-pad>",
                                                              "<fim_pad>",
                                                              "<|fim_repo|>",
                                                              "<|repo_name|>",
                                                              "<fim-repo>",
                                                              "<reponame>",
                                                              "<|file_sep|>"});

/// The special tokens that a tokenizer_config.json would name.
Json named_tokens(const GgufMetadata& metadata, const GgufVocabulary& vocabulary,
                  const GgufEnds& ends) {
  Json fields = Json::object();
  const auto name = [&](const char* key, std::optional<TokenId> id) {
    if (id && vocabulary.is_special(*id)) fields[key] = vocabulary.token(*id);
  };
  name("bos_token", ends.begin);
  name("eos_token", ends.end);
  if (!vocabulary.has_types()) return fields;  // others may be ordinary words
  name("unk_token", vocabulary.named(metadata, "tokenizer.ggml.unknown_token_id"));
  name("pad_token", vocabulary.named(metadata, "tokenizer.ggml.padding_token_id"));
  return fields;
}

TokenIds stop_tokens(const GgufMetadata& metadata, const GgufVocabulary& vocabulary,
                     const GgufEnds& ends) {
  TokenIds ids;
  const auto add = [&](std::optional<TokenId> id) {
    if (id && !is_stop_token(ids, *id)) ids.push_back(*id);
  };
  add(ends.end);
  add(vocabulary.named(metadata, "tokenizer.ggml.eot_token_id"));
  add(vocabulary.named(metadata, "tokenizer.ggml.eom_token_id"));
  for (const std::string_view text : kAnswerEnds) {
    const auto id = vocabulary.find(text);
    if (id && vocabulary.type(*id) == Type::kControl) add(id);
  }
  // In gpt-oss' harmony format an answer has several messages, which <|end|> ends.
  const auto last = vocabulary.find("<|return|>"), call = vocabulary.find("<|call|>");
  if (last && call) {
    add(last);
    add(call);
    if (const auto end = vocabulary.find("<|end|>")) std::erase(ids, *end);
  }
  return ids;
}

void read_template(const GgufMetadata& metadata, TokenizerFiles& files) {
  files.template_where = fmt::format("{}: {}", files.where, kTemplate);
  files.chat_template = metadata.find<std::string>(kTemplate);
  if (files.chat_template) {
    require_utf8(*files.chat_template, files.template_where);
  } else {
    files.template_where = fmt::format("{}: no {}", files.where, kTemplate);
  }
}

std::string hash_of(const TokenizerFiles& files, const GgufVocabulary& vocabulary) {
  Hasher hasher;
  hasher.add("GGUF").add(files.tokenizer_config.fields.dump());
  hasher.add(files.generation_config.fields.dump()).add(files.chat_template.value_or(""));
  if (files.sentencepiece) {
    hasher.add(files.sentencepiece->model);
  } else {
    hasher.add(files.tokenizer->fields.dump());
    for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
      hasher.add(vocabulary.token(id));
    }
  }
  return hasher.hex();
}

constexpr const char *kLlama = "llama", *kByteLevel = "gpt2", *kGemma4 = "gemma4";

/// Checks that the kind is known; returns whether the pieces are sentencepiece's.
bool has_pieces(const GgufMetadata& metadata) {
  const auto model = metadata.get<std::string>(kModel);
  if (model == kLlama) return true;
  if (model == kByteLevel || model == kGemma4) return false;
  throw UserError("{}: {} {} is not supported ({}, {}, {})", metadata.where(), kModel,
                  in_quotes(model), kByteLevel, kLlama, kGemma4);
}

/// What llama.cpp assumes about sentencepiece models.
constexpr GgufEnds kUsualOfPieces{.begin = 1, .end = 2, .adds_begin = true};

}  // namespace

bool has_gguf_tokenizer(const GgufMetadata& metadata) {
  return metadata.contains(kModel) && metadata.contains("tokenizer.ggml.tokens");
}

TokenizerFiles read_gguf_tokenizer(const GgufMetadata& metadata) {
  TokenizerFiles files;
  files.where = metadata.where();
  const bool is_pieces = has_pieces(metadata);
  const GgufVocabulary vocabulary = GgufVocabulary::read(metadata);
  vocabulary.warn(files.where);
  const GgufEnds ends = vocabulary.read_ends(metadata, is_pieces ? kUsualOfPieces : GgufEnds{});
  Json& config = files.tokenizer_config.fields;
  config = named_tokens(metadata, vocabulary, ends);
  if (is_pieces) {
    GgufSentencepiece pieces = read_gguf_sentencepiece(metadata, vocabulary);
    files.sentencepiece = std::move(pieces.source);
    config["add_bos_token"] = ends.adds_begin;
    config["add_eos_token"] = ends.adds_end;
    config["added_tokens_decoder"] = std::move(pieces.added_tokens);
  } else if (metadata.get<std::string>(kModel) == kGemma4) {
    files.tokenizer = read_gguf_gemma4(metadata, vocabulary);
  } else {
    files.tokenizer = read_gguf_byte_level(metadata, vocabulary);
  }
  files.generation_config.fields = {{"eos_token_id", stop_tokens(metadata, vocabulary, ends)}};
  for (TokenizerFiles::Part* part :
       {&files.tokenizer_config, &files.generation_config, &files.config, &files.added_tokens}) {
    part->where = files.where;
  }
  read_template(metadata, files);
  files.hash = hash_of(files, vocabulary);
  return files;
}

TokenIds gguf_stop_tokens(const GgufMetadata& metadata) {
  if (!has_gguf_tokenizer(metadata)) return {};
  const bool is_pieces = has_pieces(metadata);
  const GgufVocabulary vocabulary = GgufVocabulary::read(metadata);
  const GgufEnds ends = vocabulary.read_ends(metadata, is_pieces ? kUsualOfPieces : GgufEnds{});
  return stop_tokens(metadata, vocabulary, ends);
}

}  // namespace predgen
