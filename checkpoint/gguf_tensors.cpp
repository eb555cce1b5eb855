#include "checkpoint/gguf_tensors.h"

#include <c10/util/accumulate.h>

#include <charconv>
#include <set>

#include "checkpoint/gguf_names.h"
#include "core/error.h"
#include "tensors/converted_read.h"
#include "tensors/safetensors.h"

namespace predgen {
namespace {

bool is_rope_factors(const std::string& name) {
  return name == "rope_freqs.weight" || name.ends_with(".attn_rot_embd.weight");
}

/// Whether it is of a layer behind the model's, which predicts further tokens.
bool is_of_further_layer(std::string_view name, int64_t num_layers) {
  constexpr std::string_view kLayer = "blk.";
  int64_t layer = 0;
  return name.starts_with(kLayer) &&
         std::from_chars(name.data() + kLayer.size(), name.data() + name.size(), layer).ec ==
             std::errc() &&
         layer >= num_layers;
}

}  // namespace

GgufTensors::GgufTensors(std::shared_ptr<const GgufFile> file, const ModelConfig& config,
                         const std::string& architecture)
    : file_(std::move(file)) {
  std::set<std::string> taken;
  for (const WeightSpec& weight : weight_layout(config)) {
    if (!weight.stacked.empty()) continue;  // UnstackedTensors
    std::string gguf = weight.gguf;
    auto found = file_->entries().find(gguf);
    if (found == file_->entries().end() && weight.name == kEmbeddingName) {
      gguf = kGgufHeadName;  // the same, if tied
      found = file_->entries().find(gguf);
    }
    if (found == file_->entries().end()) continue;  // ModelWeights names missing ones
    taken.insert(gguf);
    const int64_t head_dim = rows_in_pairs(weight, architecture);
    // ModelWeights rejects one of another shape.
    const bool has_heads = head_dim > 0 && found->second.shape[0] % head_dim == 0;
    tensors_[weight.name] = {.entry = &found->second,
                             .head_dim = has_heads ? head_dim : 0,
                             .norm_offset = added_to(weight, config)};
    if ((weight.grouped && weight.grouped->heads > 1 && weight.grouped->groups > 1) ||
        weight.is_log || gguf_shape(weight) != weight.shape) {
      if (found->second.shape == gguf_shape(weight)) tensors_[weight.name].form = weight;
    }
  }
  for (const auto& [name, entry] : file_->entries()) {
    if (taken.contains(name) || is_rope_factors(name)) continue;
    tensors_[is_of_further_layer(name, config.num_layers()) ? "mtp." + name : name] = {
        .entry = &entry, .head_dim = 0, .norm_offset = 0.0};
  }
}

std::vector<std::string> GgufTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, stored] : tensors_) names.push_back(name);
  return names;
}

const GgufTensors::Stored& GgufTensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw UserError("{}: has no tensor {}", file_->metadata().where(), name);
  }
  return found->second;
}

TensorShape GgufTensors::shape(const std::string& name) const {
  const Stored& stored = find(name);
  const GgufFile::Entry& entry = *stored.entry;
  if (stored.form) {
    return {entry.type->is_plain() ? entry.type->plain : at::kFloat, stored.form->shape};
  }
  return {entry.type->is_plain() ? entry.type->plain : at::kFloat, entry.shape};
}

at::Tensor GgufTensors::tensor(const std::string& name) const {
  const Stored& stored = find(name);
  if (stored.entry->type->is_plain() && stored.is_as_it_is()) return file_->view(*stored.entry);
  return read_rows(name, 0, stored.entry->shape.at(0));
}

at::Tensor GgufTensors::load(const std::string& name, at::Device device,
                             at::ScalarType dtype) const {
  const Stored& stored = find(name);
  const GgufFile::Entry& entry = *stored.entry;
  const std::vector<int64_t> own = stored.form ? stored.form->shape : entry.shape;
  at::Tensor loaded = at::empty(own, at::TensorOptions(dtype).device(device));
  if (device.is_cpu() && entry.type->is_plain() && stored.is_as_it_is()) {
    const auto read = [&](char* to, size_t num_bytes, size_t offset) {
      file_->read(entry, to, num_bytes, offset);
    };
    read_converted(read, entry.type->plain, loaded);
    return loaded;
  }
  for_each_block(own, [&](int64_t begin, int64_t end) {
    loaded.narrow(0, begin, end - begin).copy_(read_rows(name, begin, end));
  });
  return loaded;
}

at::Tensor GgufTensors::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  const Stored& stored = find(name);
  if (stored.form) {
    const at::Tensor rows = from_gguf_form(
        *stored.form, begin, end,
        [&](int64_t first, int64_t last) { return file_->read_rows(*stored.entry, first, last); });
    return stored.norm_offset == 0.0 ? rows : rows - stored.norm_offset;
  }
  if (stored.head_dim == 0) {
    const at::Tensor rows = file_->read_rows(*stored.entry, begin, end);
    return stored.norm_offset == 0.0 ? rows : rows - stored.norm_offset;
  }
  const auto [first, last] = whole_heads(begin, end, stored.head_dim);
  return in_halves(file_->read_rows(*stored.entry, first, last), stored.head_dim)
      .narrow(0, begin - first, end - begin);
}

std::optional<CodeLayout> GgufTensors::code_layout(const std::string& name) const {
  const Stored& stored = find(name);
  const bool is_matrix = stored.entry->shape.size() >= 2 && stored.norm_offset == 0.0;
  if (stored.entry->type->is_plain() || !is_matrix) return std::nullopt;
  if (stored.form) {
    const auto& heads = stored.form->grouped;
    const bool keeps_groups =
        heads && (!heads->in_columns || heads->size % stored.entry->type->layout.group == 0);
    if (!keeps_groups || stored.form->shape.size() != 2) return std::nullopt;
  }
  return stored.entry->type->layout;
}

CodedRows GgufTensors::read_codes(const std::string& name, int64_t begin, int64_t end) const {
  const Stored& stored = find(name);
  if (stored.form) return regrouped_codes(*stored.entry, *stored.form->grouped, begin, end);
  if (stored.head_dim == 0) {
    GgufFile::Entry matrix = *stored.entry;  // of all rows
    matrix.shape = {c10::multiply_integers(matrix.shape) / matrix.shape.back(),
                    matrix.shape.back()};
    return file_->read_codes(matrix, begin, end);
  }
  const auto [first, last] = whole_heads(begin, end, stored.head_dim);
  const int64_t skipped = begin - first;
  const CodedRows rows = file_->read_codes(*stored.entry, first, last);
  const auto part = [&](const at::Tensor& values) {
    return in_halves(values, stored.head_dim).narrow(0, skipped, end - begin);
  };
  return {.codes = part(rows.codes), .scales = part(rows.scales), .offsets = part(rows.offsets)};
}

CodedRows GgufTensors::regrouped_codes(const GgufFile::Entry& entry, const GroupedHeads& heads,
                                       int64_t begin, int64_t end) const {
  if (heads.in_columns) {
    const CodedRows rows = file_->read_codes(entry, begin, end);
    const auto part = [&](const at::Tensor& values, int64_t unit) {
      return values.defined() ? regrouped_columns(heads, false, values, unit) : values;
    };
    const int64_t group = entry.type->layout.group;
    return {.codes = part(rows.codes, 1),
            .scales = part(rows.scales, group),
            .offsets = part(rows.offsets, group)};
  }
  const auto part = [&](at::Tensor CodedRows::*side) {
    return regrouped_rows(heads, false, begin, end, [&](int64_t first, int64_t last) {
      return file_->read_codes(entry, first, last).*side;
    });
  };
  return {.codes = part(&CodedRows::codes),
          .scales = part(&CodedRows::scales),
          .offsets = part(&CodedRows::offsets)};
}

void GgufTensors::forget(const std::string& name) const { file_->forget(*find(name).entry); }

}  // namespace predgen
