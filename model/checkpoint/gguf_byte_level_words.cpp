#include "model/checkpoint/gguf_byte_level_words.h"

#include <fmt/ranges.h>

#include <vector>

#include "core/error.h"
#include "model/checkpoint/gguf_vocabulary.h"

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
    // For files whose converter did not know the tokenizer: what llama.cpp does with them.
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
    {.name = "dbrx", .splits = {kLlama3}},  // OLMo 2, too
    {.name = "smaug-bpe", .splits = {kLlama3}},
    {.name = "tekken", .splits = {kTekken}, .takes_whole_words = true, .adds_begin = true},
    {.name = "llama4", .splits = {kGpt4o}, .takes_whole_words = true},
    {.name = "gpt-4o", .splits = {kGpt4o}},
};

}  // namespace

const GgufWords& find_gguf_words(std::string_view name, const std::string& where) {
  std::vector<std::string_view> names;
  for (const GgufWords& words : kKnown) {
    if (words.name == name) return words;
    names.push_back(words.name);
  }
  throw UserError("{}: tokenizer.ggml.pre {} is not supported ({})", where, in_quotes(name),
                  fmt::join(names, ", "));
}

}  // namespace predgen
