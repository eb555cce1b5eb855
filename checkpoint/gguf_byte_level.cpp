#include "checkpoint/gguf_byte_level.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "checkpoint/gguf_vocabulary.h"
#include "core/error.h"
#include "core/json.h"
#include "text/utf8.h"

namespace predgen {
namespace {

// From tokenizer.json of Llama 3 (and of tiktoken's cl100k_base), Qwen2 and Mistral Nemo, and from
// tiktoken's o200k_base.
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kDigit = R"(\p{N})";

constexpr GgufWords of_llama3(std::string_view name) {
  return {.name = name, .splits = {kLlama3}, .takes_whole_words = true, .adds_begin = true};
}
constexpr GgufWords of_qwen2(std::string_view name) {
  return {.name = name, .splits = {kQwen2}, .has_nfc = true};
}

constexpr GgufWords kKnown[] = {
    // For files whose converter did not know the tokenizer: as in llama.cpp.
    {.name = "default",
     .splits = {R"([\p{P}\$\+<=>\^~\|]+)",
                R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))",
                R"(\p{N}+)", "[0-9][0-9][0-9]"}},
    of_llama3("llama-bpe"),
    of_llama3("llama-v3"),
    of_llama3("llama3"),
    {.name = "smollm", .splits = {kDigit}, .has_gpt2_words = true},
    {.name = "gpt-2", .splits = {}, .has_gpt2_words = true},
    of_qwen2("qwen2"),
    of_qwen2("deepseek-r1-qwen"),
    {.name = "olmo", .splits = {}, .has_gpt2_words = true, .has_nfc = true},
    {.name = "dbrx", .splits = {kLlama3}},  // also OLMo 2
    {.name = "smaug-bpe", .splits = {kLlama3}},
    {.name = "tekken", .splits = {kTekken}, .takes_whole_words = true, .adds_begin = true},
    {.name = "llama4", .splits = {kGpt4o}, .takes_whole_words = true},
    {.name = "gpt-4o", .splits = {kGpt4o}},
};

/// Adds the patterns that a pre_tokenizer splits by; false for a step that no family has.
bool add_steps(const Json& step, std::vector<std::string>& splits, bool& has_gpt2_words) {
  if (!step.is_object()) return false;
  const std::string type = step.value("type", "");
  if (type == "Sequence") {
    return std::ranges::all_of(step.value("pretokenizers", Json::array()), [&](const Json& each) {
      return add_steps(each, splits, has_gpt2_words);
    });
  }
  if (type == "ByteLevel") {
    has_gpt2_words = step.value("use_regex", true);
    return !step.value("add_prefix_space", true);
  }
  if (type == "Digits" && step.value("individual_digits", false)) {
    splits.emplace_back(kDigit);
    return true;
  }
  const Json pattern = step.value("pattern", Json::object());
  if (type != "Split" || !pattern.is_object() || step.value("behavior", "") != "Isolated" ||
      step.value("invert", false)) {
    return false;
  }
  splits.push_back(pattern.value("Regex", ""));
  return true;
}

}  // namespace

std::string_view name_gguf_words(const TokenizerJson& tokenizer, const std::string& where) {
  const auto refuse = [&](const char* what) {
    throw UserError("{}: its {} is that of no family of llama.cpp's", where, what);
  };
  std::vector<std::string> splits;
  bool has_gpt2_words = false;
  const Json& fields = tokenizer.fields;
  if (!checked_json(where, [&] {
        return add_steps(fields.value("pre_tokenizer", Json()), splits, has_gpt2_words);
      })) {
    refuse("pre_tokenizer");
  }
  const Json normalizer = fields.value("normalizer", Json());
  const bool has_nfc = normalizer.is_object() && normalizer.value("type", "") == "NFC";
  if (!normalizer.is_null() && !has_nfc) refuse("normalizer");
  const Json model = fields.value("model", Json::object());
  const bool takes_whole_words = model.is_object() && model.value("ignore_merges", false);
  for (const GgufWords& words : kKnown) {
    std::vector<std::string> known;
    for (const char* pattern : words.splits) {
      if (pattern) known.emplace_back(pattern);
    }
    if (known == splits && words.has_gpt2_words == has_gpt2_words && words.has_nfc == has_nfc &&
        words.takes_whole_words == takes_whole_words) {
      return words.name;
    }
  }
  refuse("pre_tokenizer");
  return {};
}

const GgufWords& find_gguf_words(std::string_view name, const std::string& where) {
  std::vector<std::string_view> names;
  for (const GgufWords& words : kKnown) {
    if (words.name == name) return words;
    names.push_back(words.name);
  }
  throw UserError("{}: tokenizer.ggml.pre {} is not supported ({})", where, in_quotes(name),
                  fmt::join(names, ", "));
}

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
    require_utf8_at(pair, metadata.where(), kMerges, rank);
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
