#include "serve/http/http.h"

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "core/text.h"
#include "serve/api_error.h"

namespace predgen::serve {

std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    int value = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    plain += is_code ? static_cast<char>(value) : text[i];
    if (is_code) i += 2;
  }
  return plain;
}

std::string plain_path(std::string_view path) {
  std::string plain;
  for (const char c : percent_decoded(path)) {
    if (c != '/' || !plain.ends_with('/')) plain += c;
  }
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

namespace {

/// Nobody can register a name under these: RFC 6761, RFC 6762, RFC 8375, and ICANN's reservation of
/// .internal; .lan is what many routers use, and is not delegated.
constexpr std::array<std::string_view, 5> kPrivateDomains{".localhost", ".local", ".home.arpa",
                                                          ".internal", ".lan"};

}  // namespace

bool is_same_name(std::string_view one, std::string_view other) {
  return lower_ascii(one) == lower_ascii(other);
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos || host.empty()) return false;
  const std::string_view name = origin.substr(0, scheme);
  if (name != "http" && name != "https") return false;
  return is_same_name(origin.substr(scheme + 3), host);
}

std::string host_name(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.find(':')));
}

bool is_own_host(std::string_view host) {
  const std::string name = host_name(host);
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  if (!error || name.find('.') == std::string::npos) return true;
  return std::ranges::any_of(kPrivateDomains, [&](std::string_view domain) {
    return name.size() > domain.size() &&
           is_same_name(std::string_view(name).substr(name.size() - domain.size()), domain);
  });
}

namespace {

constexpr std::string_view kForm = "multipart/form-data", kLineEnd = "\r\n", kHeadEnd = "\r\n\r\n";
constexpr size_t kMaxFields = 100;

[[noreturn]] void fail_form(const std::string& why) {
  throw ApiError({.code = "invalid_form"},
                 "the request's body must be multipart/form-data: " + why);
}

/// The value of a header's `name`=VALUE or `name`="VALUE"; empty: it has none.
std::string parameter(std::string_view header, const std::string& name) {
  const std::string lower = lower_ascii(header);
  for (size_t at = lower.find(';'); at != std::string::npos; at = lower.find(';', at + 1)) {
    const size_t begin = lower.find_first_not_of(" \t", at + 1);
    if (begin == std::string::npos || !lower.substr(begin).starts_with(name + "=")) continue;
    std::string_view value = header.substr(begin + name.size() + 1);
    if (!value.starts_with('"')) return std::string(trimmed(value.substr(0, value.find(';'))));
    value.remove_prefix(1);
    return std::string(value.substr(0, value.find('"')));
  }
  return {};
}

/// The line of a part's head that begins with this header.
std::string_view header_line(std::string_view head, const std::string& name) {
  while (!head.empty()) {
    const size_t end = std::min(head.find(kLineEnd), head.size());
    const std::string_view line = head.substr(0, end);
    if (lower_ascii(line).starts_with(name + ":")) return line;
    head.remove_prefix(std::min(end + kLineEnd.size(), head.size()));
  }
  return {};
}

FormField read_part(std::string_view part) {
  // A part without headers begins with their end.
  const bool has_head = !part.starts_with(kLineEnd);
  const size_t end = has_head ? part.find(kHeadEnd) : 0;
  if (end == std::string_view::npos) fail_form("a part has no end of its headers");
  const std::string_view about = header_line(part.substr(0, end), "content-disposition");
  FormField field{.name = parameter(about, "name"),
                  .file_name = parameter(about, "filename"),
                  .content = part.substr(end + (has_head ? kHeadEnd : kLineEnd).size())};
  if (field.name.empty()) fail_form("a part has no name");
  return field;
}

}  // namespace

bool is_form(std::string_view content_type) {
  return lower_ascii(trimmed(content_type)).starts_with(kForm);
}

std::vector<FormField> parse_form(std::string_view body, std::string_view content_type) {
  if (!is_form(content_type)) {
    fail_form(fmt::format("its Content-Type is '{}'", shortened(content_type)));
  }
  const std::string boundary = parameter(content_type, "boundary");
  if (boundary.empty()) fail_form("its Content-Type names no boundary");
  const std::string first = "--" + boundary, next = std::string(kLineEnd) + first;
  std::vector<FormField> fields;
  size_t at = body.starts_with(first) ? 0 : body.find(next);
  if (at == std::string_view::npos) fail_form("its boundary does not occur");
  if (at > 0) at += kLineEnd.size();
  while (true) {
    at += first.size();
    if (body.substr(at).starts_with("--")) return fields;
    at = body.find(kLineEnd, at);  // white space may stand before it
    if (at == std::string_view::npos) fail_form("it ends before its last boundary");
    at += kLineEnd.size();
    // The line end before a boundary belongs to it, also to that behind an empty part.
    const size_t end = body.find(next, at - kLineEnd.size());
    if (end == std::string_view::npos) fail_form("it ends before its last boundary");
    if (fields.size() == kMaxFields) fail_form(fmt::format("it has over {} fields", kMaxFields));
    fields.push_back(read_part(body.substr(at, std::max(end, at) - at)));
    at = end + kLineEnd.size();
  }
}

}  // namespace predgen::serve
