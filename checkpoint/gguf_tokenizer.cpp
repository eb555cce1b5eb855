#include "checkpoint/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "checkpoint/gguf_byte_level.h"
#include "checkpoint/gguf_vocabulary.h"
#include "core/error.h"
#include "core/hash.h"
#include "tensors/gguf_metadata.h"
#include "text/token_ids.h"
#include "text/tokenize/added_tokens.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/utf8.h"

namespace predgen {
namespace {

/// The sentencepiece model that a file with tokenizer.ggml.model "llama" was converted from.
struct GgufSentencepiece {
  TokenizerFiles::Sentencepiece source;
  /// User-defined tokens of the form <...>, by id, as in "added_tokens_decoder": typed text must
  /// never produce them, but decoding keeps them.
  Json added_tokens;
};

using Type = GgufVocabulary::Type;

constexpr const char* kScores = "tokenizer.ggml.scores";
constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

/// Builds a protobuf message.
class ProtoMessage {
 public:
  ProtoMessage& number(uint64_t field, uint64_t value) {
    varint(field << 3);
    return varint(value);
  }
  ProtoMessage& bytes(uint64_t field, std::string_view value) {
    varint(field << 3 | 2).varint(value.size());
    bytes_.append(value);
    return *this;
  }
  ProtoMessage& real(uint64_t field, float value) {
    varint(field << 3 | 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  ProtoMessage& varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }

  std::string bytes_;
};

// Field numbers in sentencepiece_model.proto.
constexpr uint64_t kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3;
constexpr uint64_t kPiece = 1, kScore = 2, kType = 3;
constexpr uint64_t kModelType = 3, kBpe = 2, kByteFallback = 35;  // of trainer_spec
constexpr uint64_t kAddDummyPrefix = 3, kRemoveSpaces = 4, kEscapeSpaces = 5;

/// Converters write the spaces of user-defined tokens as spaces.
std::string with_space_symbols(std::string_view token) {
  std::string result;
  for (const char c : token) c == ' ' ? result.append(kSpaceSymbol) : result.append(1, c);
  return result;
}

/// The types of the pieces, with exactly one unknown, as sentencepiece requires.
std::vector<Type> piece_types(const GgufMetadata& metadata, const GgufVocabulary& vocabulary) {
  std::vector<Type> types;
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    types.push_back(vocabulary.type(static_cast<TokenId>(id)));
  }
  const auto find = [&] {
    const auto found = std::ranges::find(types, Type::kUnknown);
    return found == types.end() ? 0 : found - types.begin();  // llama.cpp's default, too
  };
  const auto unknown = static_cast<size_t>(
      vocabulary.named(metadata, "tokenizer.ggml.unknown_token_id").value_or(find()));
  std::ranges::replace(types, Type::kUnknown, Type::kControl);
  if (types[unknown] != Type::kControl) {
    throw UserError(
        "{}: token {}, {}, is to stand for what is unknown, but tokenizer.ggml.token_type says "
        "that it is an ordinary one",
        metadata.where(), unknown, in_quotes(vocabulary.token(static_cast<TokenId>(unknown))));
  }
  types[unknown] = Type::kUnknown;
  return types;
}

/// Whether byte pieces replace characters that have no piece.
bool has_bytes(const GgufMetadata& metadata, const std::vector<Type>& types) {
  const auto count = std::ranges::count(types, Type::kByte);
  if (count == 0 || count == 256) return count != 0;
  throw UserError("{}: tokenizer.ggml.token_type has {} tokens for bytes, not 256 or none",
                  metadata.where(), count);
}

/// False for Mistral tokenizers whose turn marks are tokens, which put no space after a token. The
/// format does not say so.
bool puts_spaces_after_tokens(const GgufVocabulary& vocabulary) {
  const auto mark = vocabulary.find("[INST]");
  return !mark || vocabulary.type(*mark) != Type::kControl;
}

/// UserError if the pieces do not form a sentencepiece model.
GgufSentencepiece read_gguf_sentencepiece(const GgufMetadata& metadata,
                                          const GgufVocabulary& vocabulary) {
  const std::string& where = metadata.where();
  const auto scores = metadata.get<std::vector<double>>(kScores);
  if (scores.size() != vocabulary.size()) {
    throw UserError("{}: {} has {} values for {} tokens", where, kScores, scores.size(),
                    vocabulary.size());
  }
  if (!vocabulary.has_types()) throw UserError("{}: tokenizer.ggml.token_type is missing", where);
  const std::vector<Type> types = piece_types(metadata, vocabulary);
  GgufSentencepiece result{.source = {.model = {}}, .added_tokens = Json::object()};
  ProtoMessage model;
  for (size_t id = 0; id < types.size(); ++id) {
    if (!std::isfinite(scores[id])) throw UserError("{}: {}[{}] is not finite", where, kScores, id);
    const std::string& token = vocabulary.token(static_cast<TokenId>(id));
    Type type = types[id];
    if (type == Type::kUserDefined && AddedToken{.content = token}.is_control()) {
      result.added_tokens[std::to_string(id)] = {{"content", token}};
      type = Type::kUnused;
    }
    const bool has_spaces = type == Type::kUserDefined;
    ProtoMessage piece;
    piece.bytes(kPiece, has_spaces ? with_space_symbols(token) : token)
        .real(kScore, static_cast<float>(scores[id]))
        .number(kType, static_cast<uint64_t>(type));
    model.bytes(kPieces, piece.bytes());
  }
  ProtoMessage trainer, normalizer;
  trainer.number(kModelType, kBpe).number(kByteFallback, has_bytes(metadata, types));
  normalizer.number(kAddDummyPrefix, metadata.get_or<bool>("tokenizer.ggml.add_space_prefix", true))
      .number(kRemoveSpaces,
              metadata.get_or<bool>("tokenizer.ggml.remove_extra_whitespaces", false))
      .number(kEscapeSpaces, 1);
  model.bytes(kTrainerSpec, trainer.bytes()).bytes(kNormalizerSpec, normalizer.bytes());
  result.source.model = model.bytes();
  result.source.spaces_after_tokens = puts_spaces_after_tokens(vocabulary);
  return result;
}

constexpr std::string_view kModel = "tokenizer.ggml.model";

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
  const auto read = [&](std::string_view key) -> std::optional<TokenizerFiles::Template> {
    const auto text = metadata.find<std::string>(key);
    if (!text) return std::nullopt;
    const std::string where = fmt::format("{}: {}", files.where, key);
    require_utf8(*text, where);
    return {{*text, where}};
  };
  std::optional<TokenizerFiles::Template> usual = read(kGgufTemplate);
  files.tool_template = read(kGgufToolTemplate);
  if (!usual) std::swap(usual, files.tool_template);  // one alone is for all, as in llama.cpp
  files.template_where =
      usual ? usual->where : fmt::format("{}: no {}", files.where, kGgufTemplate);
  if (usual) files.chat_template = std::move(usual->jinja);
}

std::string hash_of(const TokenizerFiles& files, const GgufVocabulary& vocabulary) {
  Hasher hasher;
  hasher.add("GGUF").add(files.tokenizer_config.fields.dump());
  hasher.add(files.generation_config.fields.dump()).add(files.chat_template.value_or(""));
  if (files.tool_template) hasher.add(files.tool_template->jinja);
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
