#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace predgen::serve {

/// A field of a form (multipart/form-data).
struct FormField {
  std::string name;
  std::string file_name{};     // empty: it is no file
  std::string_view content{};  // of the body
};

/// Whether a Content-Type is that of such a form.
bool is_form(std::string_view content_type);

/// The fields of a body that a form fills; borrows it. ApiError for what is no such form, or has
/// more than 100 fields.
std::vector<FormField> parse_form(std::string_view body, std::string_view content_type);

}  // namespace predgen::serve
