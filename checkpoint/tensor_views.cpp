#include "checkpoint/tensor_views.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace predgen {
namespace {

/// How names begin in the files, and in the text model alone.
constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
    {"model.language_model.", "model."},
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."}};

}  // namespace

std::string TextTensors::stored(const std::string& name) const {
  for (const auto& [stored, plain] : kPrefixes) {
    if (!name.starts_with(plain)) continue;
    std::string longer = std::string(stored) + name.substr(plain.size());
    if (whole_->contains(longer)) return longer;
  }
  return name;
}

std::vector<std::string> TextTensors::names() const {
  std::vector<std::string> names = whole_->names();
  for (std::string& name : names) {
    for (const auto& [stored, plain] : kPrefixes) {
      if (name.starts_with(stored)) name.replace(0, stored.size(), plain);
    }
  }
  return names;
}

bool TextTensors::contains(const std::string& name) const { return whole_->contains(stored(name)); }

TensorShape TextTensors::shape(const std::string& name) const {
  return whole_->shape(stored(name));
}

at::Tensor TextTensors::tensor(const std::string& name) const {
  return whole_->tensor(stored(name));
}

at::Tensor TextTensors::load(const std::string& name, at::Device device,
                             at::ScalarType dtype) const {
  return whole_->load(stored(name), device, dtype);
}

at::Tensor TextTensors::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  return whole_->read_rows(stored(name), begin, end);
}

std::optional<CodeLayout> TextTensors::code_layout(const std::string& name) const {
  return whole_->code_layout(stored(name));
}

CodedRows TextTensors::read_codes(const std::string& name, int64_t begin, int64_t end) const {
  return whole_->read_codes(stored(name), begin, end);
}

void TextTensors::forget(const std::string& name) const { whole_->forget(stored(name)); }

UnstackedTensors::UnstackedTensors(std::unique_ptr<const StoredTensors> stored,
                                   const ModelConfig& config, const std::string& where)
    : stored_(std::move(stored)) {
  std::vector<WeightSpec> weights = weight_layout(config);
  for (WeightSpec& weight : mtp_weights(config)) weights.push_back(std::move(weight));
  for (const WeightSpec& weight : weights) {
    if (weight.stacked.empty() || stored_->contains(weight.name)) continue;
    const auto place = std::ranges::find_if(
        weight.stacked, [&](const StackedPlace& one) { return stored_->contains(one.name); });
    if (place == weight.stacked.end()) continue;  // ModelWeights names missing ones
    Part part{*place, weight.shape};
    if (!stacks_.contains(place->name)) {
      stacks_[place->name] = stored_->code_layout(place->name).has_value();
    }
    if (stacks_[place->name] && part.place.is_transposed) {
      part.place.is_transposed = false;
      std::swap(part.place.shape[1], part.place.shape[2]);
    }
    const std::vector<int64_t> found = stored_->shape(place->name).shape;
    if (found != part.place.shape) {
      throw UserError("{}: tensor {} has shape {}, the configuration wants {}", where, place->name,
                      c10::str(at::IntArrayRef(found)),
                      c10::str(at::IntArrayRef(part.place.shape)));
    }
    parts_.emplace(weight.name, std::move(part));
  }
}

const UnstackedTensors::Part* UnstackedTensors::find(const std::string& name) const {
  const auto found = parts_.find(name);
  return found == parts_.end() ? nullptr : &found->second;
}

std::vector<std::string> UnstackedTensors::names() const {
  std::vector<std::string> names;
  for (const std::string& name : stored_->names()) {
    if (!stacks_.contains(name)) names.push_back(name);
  }
  for (const auto& [name, part] : parts_) names.push_back(name);
  return names;
}

bool UnstackedTensors::contains(const std::string& name) const {
  return find(name) != nullptr || (stored_->contains(name) && !stacks_.contains(name));
}

TensorShape UnstackedTensors::shape(const std::string& name) const {
  const Part* part = find(name);
  if (part == nullptr) return stored_->shape(name);
  return {stored_->shape(part->place.name).dtype, part->shape};
}

at::Tensor UnstackedTensors::tensor(const std::string& name) const {
  const Part* part = find(name);
  return part == nullptr ? stored_->tensor(name) : read_rows(name, 0, part->shape[0]);
}

at::Tensor UnstackedTensors::load(const std::string& name, at::Device device,
                                  at::ScalarType dtype) const {
  const Part* part = find(name);
  if (part == nullptr) return stored_->load(name, device, dtype);
  at::Tensor loaded = at::empty(part->shape, at::TensorOptions(dtype).device(device));
  return loaded.copy_(read_rows(name, 0, part->shape[0]));
}

at::Tensor UnstackedTensors::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  const Part* part = find(name);
  if (part == nullptr) return stored_->read_rows(name, begin, end);
  const StackedPlace& place = part->place;
  if (stacks_.at(place.name)) {
    return widen(read_codes(name, begin, end), *stored_->code_layout(place.name));
  }
  at::Tensor rows = stored_->tensor(place.name)[place.index];
  if (place.is_transposed) rows = rows.t();
  const int64_t first = place.first + begin * place.step;
  return rows.slice(0, first, first + (end - begin) * place.step, place.step).contiguous();
}

std::optional<CodeLayout> UnstackedTensors::code_layout(const std::string& name) const {
  const Part* part = find(name);
  if (part == nullptr) return stored_->code_layout(name);
  return part->shape.size() == 2 ? stored_->code_layout(part->place.name) : std::nullopt;
}

CodedRows UnstackedTensors::read_codes(const std::string& name, int64_t begin, int64_t end) const {
  const Part* part = find(name);
  if (part == nullptr) return stored_->read_codes(name, begin, end);
  const StackedPlace& place = part->place;
  const int64_t first = place.index * place.shape[1] + place.first + begin * place.step;
  // Not beyond the tensor, whose last row may be the last but one of a step.
  const int64_t last = begin == end ? first : first + (end - begin - 1) * place.step + 1;
  const CodedRows rows = stored_->read_codes(place.name, first, last);
  const auto own = [&](const at::Tensor& all) {
    return all.defined() ? all.slice(0, 0, std::nullopt, place.step).contiguous() : all;
  };
  return {.codes = own(rows.codes),
          .scales = own(rows.scales),
          .offsets = own(rows.offsets),
          .blocks = own(rows.blocks)};
}

void UnstackedTensors::forget(const std::string& name) const {
  const Part* part = find(name);
  stored_->forget(part == nullptr ? name : part->place.name);
}

StackedLayout::StackedLayout(const ModelConfig& config, Format format) {
  for (WeightSpec& weight : weight_layout(config)) {
    const std::string& target = format == Format::kGguf ? weight.gguf : weight.folder;
    const auto place = std::ranges::find(weight.stacked, target, &StackedPlace::name);
    if (place == weight.stacked.end()) {
      tensors_.push_back(std::move(weight));
      continue;
    }
    if (!parts_.contains(target)) {
      shapes_[target] = place->shape;
      WeightSpec whole{.name = target, .shape = place->shape, .gguf = target};
      tensors_.push_back(std::move(whole));
    }
    parts_[target].push_back({weight.name, *place, weight.shape[0]});
  }
}

at::Tensor StackedLayout::rows(const std::string& name, int64_t begin, int64_t end,
                               const TensorRows& rows_of) const {
  const auto parts = parts_.find(name);
  if (parts == parts_.end()) return rows_of(name, begin, end);
  std::vector<int64_t> shape = shapes_.at(name);
  shape[0] = end - begin;
  at::Tensor whole;
  for (const Part& part : parts->second) {
    const StackedPlace& place = part.place;
    if (place.index < begin || place.index >= end) continue;
    const at::Tensor own = rows_of(part.name, 0, part.height);
    if (!whole.defined()) whole = at::empty(shape, own.options());
    at::Tensor to = whole[place.index - begin];
    if (place.is_transposed) to = to.t();
    to.slice(0, place.first, std::nullopt, place.step).slice(0, 0, part.height).copy_(own);
  }
  return whole;
}

}  // namespace predgen
