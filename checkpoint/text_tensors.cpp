#include "checkpoint/text_tensors.h"

#include <string_view>
#include <utility>

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

}  // namespace predgen
