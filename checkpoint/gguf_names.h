#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model_config.h"

namespace predgen {

/// GGUF's names of transformers' architectures. A Mistral is a "llama" there, with a window, and an
/// OLMo 3 an "olmo2".
constexpr std::pair<std::string_view, const char*> kGgufArchitectures[] = {
    {"llama", "LlamaForCausalLM"},         {"llama", "MistralForCausalLM"},
    {"smollm3", "SmolLM3ForCausalLM"},     {"qwen2", "Qwen2ForCausalLM"},
    {"qwen3", "Qwen3ForCausalLM"},         {"olmo2", "Olmo2ForCausalLM"},
    {"gemma3", "Gemma3ForCausalLM"},       {"qwen3moe", "Qwen3MoeForCausalLM"},
    {"gpt-oss", "GptOssForCausalLM"},      {"olmo2", "Olmo3ForCausalLM"},
    {"mistral3", "Ministral3ForCausalLM"}, {"qwen35", "Qwen3_5ForCausalLM"},
    {"lfm2", "Lfm2ForCausalLM"},           {"gemma4", "Gemma4ForCausalLM"},
    {"lfm2moe", "Lfm2MoeForCausalLM"},     {"gemma4", "Gemma4UnifiedForCausalLM"},
    {"qwen35moe", "Qwen3_5MoeForCausalLM"}};

/// What llama.cpp assumes about Gemma 3: every sixth layer sees all positions, and scores are
/// divided by the square root of the head size (in the 62-layer model, of hidden size / number of
/// heads).
constexpr int64_t kGemma3Pattern = 6;
/// And about OLMo 3, whose other layers have the plain positions of the base.
constexpr int64_t kOlmo3Pattern = 4;
int64_t gemma3_query_scalar(int64_t num_layers, int64_t hidden_size, int64_t num_heads,
                            int64_t head_dim);

/// Rows per head of a weight if llama.cpp's `architecture` stores its rotary pairs as
/// (2j, 2j + 1) where transformers has (j, j + half). 0 if both store them alike.
int64_t rows_in_pairs(const WeightSpec& weight, std::string_view architecture);
/// The row range of all heads that rows [begin, end) belong to.
std::pair<int64_t, int64_t> whole_heads(int64_t begin, int64_t end, int64_t head_dim);
/// Reorders rows of whole heads from llama.cpp's order to transformers'.
at::Tensor in_halves(const at::Tensor& rows, int64_t head_dim);
/// The inverse of in_halves().
at::Tensor in_pairs(const at::Tensor& rows, int64_t head_dim);

/// Rows [begin, end) of grouped heads in transformers' order, of which `stored` gives those in
/// llama.cpp's, or with `to_gguf` the other way around.
at::Tensor regrouped_rows(const GroupedHeads& heads, bool to_gguf, int64_t begin, int64_t end,
                          const std::function<at::Tensor(int64_t begin, int64_t end)>& stored);
/// The same of columns [rows,columns], in units of `unit` of them.
at::Tensor regrouped_columns(const GroupedHeads& heads, bool to_gguf, const at::Tensor& columns,
                             int64_t unit = 1);

/// A weight's shape in a GGUF file: convolutions of single channels have two dimensions there.
std::vector<int64_t> gguf_shape(const WeightSpec& weight);
/// Rows [begin, end) of a weight as llama.cpp stores it, from transformers' rows.
at::Tensor in_gguf_form(const WeightSpec& weight, int64_t begin, int64_t end,
                        const std::function<at::Tensor(int64_t begin, int64_t end)>& rows);
/// The inverse; `rows` gives the file's.
at::Tensor from_gguf_form(const WeightSpec& weight, int64_t begin, int64_t end,
                          const std::function<at::Tensor(int64_t begin, int64_t end)>& rows);

/// What llama.cpp's conversion adds to a weight: the norm offset.
double added_to(const WeightSpec& weight, const ModelConfig& config);

}  // namespace predgen
