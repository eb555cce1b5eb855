#include "tensors/stored_tensors.h"

#include "core/error.h"

namespace predgen {

std::optional<CodeLayout> StoredTensors::code_layout(const std::string&) const {
  return std::nullopt;
}

CodedRows StoredTensors::read_codes(const std::string& name, int64_t, int64_t) const {
  throw Error("{} is not stored in few bits", name);
}

}  // namespace predgen
