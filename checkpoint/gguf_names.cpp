#include "checkpoint/gguf_names.h"

#include <vector>

namespace predgen {
namespace {

at::Tensor swapped(const at::Tensor& rows, int64_t outer, int64_t inner) {
  std::vector<int64_t> split{-1, outer, inner};
  const at::IntArrayRef rest = rows.sizes().slice(1);
  split.insert(split.end(), rest.begin(), rest.end());
  return rows.view(split).transpose(1, 2).reshape(rows.sizes());
}

}  // namespace

int64_t gemma3_query_scalar(int64_t num_layers, int64_t hidden_size, int64_t num_heads,
                            int64_t head_dim) {
  constexpr int64_t kLayersOf27b = 62;
  return num_layers == kLayersOf27b ? hidden_size / num_heads : head_dim;
}

int64_t rows_in_pairs(const WeightSpec& weight, std::string_view architecture) {
  const bool has_pairs =
      architecture == "llama" || architecture == "smollm3" || architecture == "mistral3";
  return has_pairs ? weight.rotary_rows : 0;
}

std::pair<int64_t, int64_t> whole_heads(int64_t begin, int64_t end, int64_t head_dim) {
  return {begin / head_dim * head_dim, (end + head_dim - 1) / head_dim * head_dim};
}

at::Tensor in_halves(const at::Tensor& rows, int64_t head_dim) {
  return swapped(rows, head_dim / 2, 2);
}

at::Tensor in_pairs(const at::Tensor& rows, int64_t head_dim) {
  return swapped(rows, 2, head_dim / 2);
}

namespace {

/// Where row `row` of one order is in the other.
int64_t other_place(const GroupedHeads& heads, bool to_gguf, int64_t row) {
  if (row < heads.first) return row;
  const int64_t place = row - heads.first, head = place / heads.size;
  // Of `to_gguf` rows the index is llama.cpp's: head of a group, then group.
  const int64_t inner = to_gguf ? heads.groups : heads.heads;
  const int64_t outer = to_gguf ? heads.heads : heads.groups;
  const int64_t other = head % inner * outer + head / inner;
  return heads.first + other * heads.size + place % heads.size;
}

}  // namespace

at::Tensor regrouped_rows(const GroupedHeads& heads, bool to_gguf, int64_t begin, int64_t end,
                          const std::function<at::Tensor(int64_t begin, int64_t end)>& stored) {
  std::vector<at::Tensor> runs;
  for (int64_t row = begin; row < end;) {
    const int64_t from = other_place(heads, to_gguf, row);
    int64_t count = 1;
    while (row + count < end && other_place(heads, to_gguf, row + count) == from + count) ++count;
    runs.push_back(stored(from, from + count));
    row += count;
  }
  return runs.size() == 1 ? runs.front() : at::cat(runs);
}

at::Tensor regrouped_columns(const GroupedHeads& heads, bool to_gguf, const at::Tensor& columns,
                             int64_t unit) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < columns.size(1); ++i) {
    order.push_back(other_place(heads, to_gguf, i * unit) / unit);
  }
  return columns.index_select(1, at::tensor(order, at::kLong));
}

std::vector<int64_t> gguf_shape(const WeightSpec& weight) {
  std::vector<int64_t> shape = weight.shape;
  if (shape.size() == 3 && shape[1] == 1) shape.erase(shape.begin() + 1);
  return shape;
}

at::Tensor in_gguf_form(const WeightSpec& weight, int64_t begin, int64_t end,
                        const std::function<at::Tensor(int64_t begin, int64_t end)>& rows) {
  const auto& heads = weight.grouped;
  const bool has_rows = heads && !heads->in_columns;
  at::Tensor found = has_rows ? regrouped_rows(*heads, true, begin, end, rows) : rows(begin, end);
  if (found.dim() == 3) found = found.squeeze(1);
  if (heads && heads->in_columns) found = regrouped_columns(*heads, true, found);
  return weight.is_log ? -found.exp() : found;
}

at::Tensor from_gguf_form(const WeightSpec& weight, int64_t begin, int64_t end,
                          const std::function<at::Tensor(int64_t begin, int64_t end)>& rows) {
  const auto& heads = weight.grouped;
  const bool has_rows = heads && !heads->in_columns;
  at::Tensor found = has_rows ? regrouped_rows(*heads, false, begin, end, rows) : rows(begin, end);
  if (weight.shape.size() == 3) found = found.unsqueeze(1);
  if (heads && heads->in_columns) found = regrouped_columns(*heads, false, found);
  return weight.is_log ? (-found).log() : found;
}

double added_to(const WeightSpec& weight, const ModelConfig& config) {
  return weight.is_norm ? config.norm_offset : 0.0;
}

}  // namespace predgen
