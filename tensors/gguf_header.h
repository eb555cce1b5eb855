#pragma once

#include <map>
#include <memory>
#include <string>

#include "tensors/gguf_file.h"
#include "tensors/gguf_metadata.h"
#include "tensors/mapped_file.h"

namespace predgen {

/// What stands in one GGUF file in front of the data of its tensors. UserError where that is not
/// well-formed, or data do not lie inside the file.
struct GgufHeader {
  std::unique_ptr<const GgufMetadata> metadata;
  std::map<std::string, GgufFile::Entry> entries;  // their part is 0
};

GgufHeader parse_gguf_header(const std::shared_ptr<const MappedFile>& mapped);
/// Only that; of tensors their number alone is looked at.
GgufMetadata parse_gguf_metadata(const std::shared_ptr<const MappedFile>& mapped);

}  // namespace predgen
