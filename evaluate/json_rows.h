#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/json.h"

namespace predgen::evaluate {

/// Each row of a JSONL file that is not blank; `where` is "file:row" for errors. UserError for a
/// missing file and for a row that is not JSON.
void for_each_row(const std::filesystem::path& file,
                  const std::function<void(const Json& row, const std::string& where)>& use);

}  // namespace predgen::evaluate
