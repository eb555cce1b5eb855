#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "tensors/gguf_file.h"

namespace predgen {

/// The tensor of divisors of frequencies, and that of a pair of a head that does not turn.
constexpr const char* kGgufRopeDivisors = "rope_freqs.weight";
constexpr double kGgufUnturned = 1e30;

/// Metadata whose keys begin with the architecture's name.
class GgufFields {
 public:
  explicit GgufFields(const GgufMetadata& metadata)
      : metadata_(metadata), name_(metadata.get<std::string>("general.architecture")) {}

  const std::string& architecture() const { return name_; }
  std::string key(const char* end) const { return fmt::format("{}.{}", name_, end); }
  bool has(const char* end) const { return metadata_.contains(key(end)); }
  int64_t size(const char* end) const { return metadata_.get<int64_t>(key(end)); }
  int64_t size(const char* end, int64_t otherwise) const {
    return metadata_.get_or(key(end), otherwise);
  }
  /// The values of a list with one for each layer, or of one number, the same in all.
  std::vector<int64_t> sizes(const char* end, int64_t num_layers) const {
    if (metadata_.count(key(end)) == 0) {
      return std::vector<int64_t>(static_cast<size_t>(num_layers), size(end));
    }
    const auto all = metadata_.get<std::vector<int64_t>>(key(end));
    if (std::ssize(all) != num_layers) fail(end, fmt::format("must have {} entries", num_layers));
    return all;
  }
  double number(const char* end) const {
    const double value = metadata_.decimal(key(end));
    if (!std::isfinite(value)) fail(end, "is not a finite number");
    return value;
  }
  double number(const char* end, double otherwise) const {
    return has(end) ? number(end) : otherwise;
  }
  bool flag(const char* end, bool otherwise) const { return metadata_.get_or(key(end), otherwise); }
  /// What follows the architecture's name, of every key that has it.
  std::vector<std::string> ends() const {
    std::vector<std::string> found;
    for (const std::string& key : metadata_.keys(name_ + ".")) {
      found.push_back(key.substr(name_.size() + 1));
    }
    return found;
  }
  std::string word(const char* end, std::string otherwise) const {
    return metadata_.get_or(key(end), std::move(otherwise));
  }
  [[noreturn]] void fail(const char* end, const std::string& why) const {
    throw UserError("{}: metadata key \"{}\" {}", metadata_.where(), key(end), why);
  }

 private:
  const GgufMetadata& metadata_;
  const std::string name_;
};

// What single architectures have beside the fields of all: read into `json`, a config.json.

void add_gemma3(const GgufFields& fields, int64_t head_dim, Json& json);
/// Windows and positions by layer.
void add_olmo3(const GgufFile& file, const GgufFields& fields, Json& json);
/// Heads, widths, windows and positions by layer, in place of what all architectures have.
void add_gemma4(const GgufFile& file, const GgufFields& fields, Json& json);
void add_ministral3(const GgufFields& fields, Json& json);
/// Architectures whose experts are read.
bool has_experts(const GgufFields& fields);
/// llama.cpp has experts in all layers, or in all but the first (lfm2moe), and divides their
/// weights by the sum.
void add_experts(const GgufFile& file, const GgufFields& fields, Json& json);

/// What chooses experts by sigmoids.
constexpr int64_t kGgufSigmoid = 2;

constexpr const char *kGgufYarnLogMultiplier = "rope.scaling.yarn_log_multiplier",
                     *kGgufTemperatureScale = "attention.temperature_scale",
                     *kGgufWindowPattern = "attention.sliding_window_pattern";

}  // namespace predgen
