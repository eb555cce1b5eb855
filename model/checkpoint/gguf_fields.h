#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "tensors/gguf_metadata.h"

namespace predgen {

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
  double number(const char* end) const { return metadata_.decimal(key(end)); }
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

}  // namespace predgen
