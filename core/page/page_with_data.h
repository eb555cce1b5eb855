#pragma once

#include <string>
#include <string_view>

#include "core/json.h"

namespace predgen {

/// A self-contained page: `page`, which cmake/EmbedReport.cmake made, with `data` for its scripts,
/// which readData() of elements.js reads. No text of the data ends the element that it stands in.
std::string page_with_data(std::string_view page, const Json& data);

}  // namespace predgen
