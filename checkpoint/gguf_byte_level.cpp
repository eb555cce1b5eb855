#include "checkpoint/gguf_byte_level.h"

#include "checkpoint/gguf_byte_level_words.h"
#include "core/error.h"
#include "core/json.h"
#include "text/utf8.h"

namespace predgen {
namespace {

using Type = GgufVocabulary::Type;

constexpr const char* kMerges = "tokenizer.ggml.merges";

Json read_merges(const GgufMetadata& metadata, const GgufVocabulary& vocabulary) {
  Json merges = Json::array();
  const auto pairs = metadata.get<std::vector<std::string>>(kMerges);
  for (size_t rank = 0; rank < pairs.size(); ++rank) {
    const std::string& pair = pairs[rank];
    const auto fail = [&](std::string_view why) {
      throw UserError("{}: {}[{}], {}, {}", metadata.where(), kMerges, rank, in_quotes(pair), why);
    };
    require_utf8(pair, fmt::format("{}: {}[{}]", metadata.where(), kMerges, rank));
    const size_t space = pair.find(' ');
    if (space == 0 || space == std::string::npos || space + 1 == pair.size()) {
      fail("is not a pair of tokens");
    }
    std::string left = pair.substr(0, space), right = pair.substr(space + 1);
    if (!vocabulary.find(left) || !vocabulary.find(right) || !vocabulary.find(left + right)) {
      fail("needs a token that is not in tokenizer.ggml.tokens");
    }
    merges.push_back(Json::array({std::move(left), std::move(right)}));
  }
  return merges;
}

Json pre_tokenizer(const GgufWords& words, bool adds_space) {
  Json steps = Json::array();
  for (const char* pattern : words.splits) {
    if (!pattern) continue;
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", adds_space && steps.empty()},
                   {"use_regex", words.has_gpt2_words}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

Json added_tokens(const GgufVocabulary& vocabulary) {
  Json added = Json::array();
  for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
    const Type type = vocabulary.type(id);
    if (type != Type::kControl && type != Type::kUnknown && type != Type::kUserDefined) continue;
    added.push_back({{"id", id},
                     {"content", vocabulary.token(id)},
                     {"special", type != Type::kUserDefined},
                     {"normalized", false}});
  }
  return added;
}

Json post_processor(const GgufEnds& ends, const GgufVocabulary& vocabulary) {
  Json single = Json::array(), special = Json::object();
  const auto add = [&](TokenId id) {
    const std::string& token = vocabulary.token(id);
    single.push_back({{"SpecialToken", {{"id", token}, {"type_id", 0}}}});
    special[token] = {{"id", token}, {"ids", Json::array({id})}, {"tokens", Json::array({token})}};
  };
  if (ends.adds_begin) add(*ends.begin);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (ends.adds_end) add(*ends.end);
  return {{"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", special}};
}

/// From one text to another, wherever it is.
Json replacing(const char* pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}

constexpr const char* kSpaceMark = "\xE2\x96\x81";  // U+2581

/// Old files may lack it.
std::string read_words_name(const GgufMetadata& metadata) {
  constexpr const char* kKey = "tokenizer.ggml.pre";
  if (!metadata.contains(kKey)) {
    throw UserError(
        "{}: {} is missing, so nothing says how words are told apart: convert the model with a "
        "llama.cpp of May 2024 or later",
        metadata.where(), kKey);
  }
  return metadata.get<std::string>(kKey);
}

}  // namespace

TokenizerJson read_gguf_byte_level(const GgufMetadata& metadata, const GgufVocabulary& vocabulary) {
  const GgufWords& words = find_gguf_words(read_words_name(metadata), metadata.where());
  const GgufEnds ends = vocabulary.read_ends(metadata, {.adds_begin = words.adds_begin});
  const bool adds_space = metadata.get_or<bool>("tokenizer.ggml.add_space_prefix", false);
  TokenizerJson result;
  result.fields = {{"added_tokens", added_tokens(vocabulary)},
                   {"normalizer", words.has_nfc ? Json::object({{"type", "NFC"}}) : Json()},
                   {"pre_tokenizer", pre_tokenizer(words, adds_space)},
                   {"post_processor", post_processor(ends, vocabulary)},
                   {"decoder", {{"type", "ByteLevel"}}},
                   {"model",
                    {{"type", "BPE"},
                     {"ignore_merges", words.takes_whole_words},
                     {"merges", read_merges(metadata, vocabulary)}}}};
  result.vocabulary = vocabulary.ids();
  return result;
}

bool is_gguf_gemma4(const Json& fields) {
  return fields.value("normalizer", Json()) == replacing(" ", kSpaceMark) &&
         fields.at("model").value("byte_fallback", Json()) == true;
}

TokenizerJson read_gguf_gemma4(const GgufMetadata& metadata, const GgufVocabulary& vocabulary) {
  Json model{{"type", "BPE"},
             {"byte_fallback", true},
             {"fuse_unk", true},
             {"merges", read_merges(metadata, vocabulary)}};
  const auto unknown = vocabulary.named(metadata, "tokenizer.ggml.unknown_token_id");
  if (unknown) model["unk_token"] = vocabulary.token(*unknown);
  TokenizerJson result;
  result.fields = {
      {"added_tokens", added_tokens(vocabulary)},
      {"normalizer", replacing(" ", kSpaceMark)},
      {"pre_tokenizer", Json()},
      {"post_processor", post_processor(vocabulary.read_ends(metadata, GgufEnds{}), vocabulary)},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {replacing(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}}},
      {"model", model}};
  result.vocabulary = vocabulary.ids();
  return result;
}

}  // namespace predgen
