#pragma once

#include <map>
#include <memory>
#include <string>

#include "tensors/gguf_file.h"
#include "tensors/gguf_metadata.h"
#include "tensors/mapped_file.h"

namespace predgen {

/// The part of a GGUF file before its tensor data. UserError if it is not well-formed, or if data
/// are not inside the file.
struct GgufHeader {
  std::unique_ptr<const GgufMetadata> metadata;
  std::map<std::string, GgufFile::Entry> entries;  // their part is 0
};

GgufHeader parse_gguf_header(const std::shared_ptr<const MappedFile>& mapped);
/// Reads only the metadata; of the tensors, only their number.
GgufMetadata parse_gguf_metadata(const std::shared_ptr<const MappedFile>& mapped);

}  // namespace predgen
