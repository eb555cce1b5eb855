#include "text/tools/written_call.h"

#include <algorithm>
#include <initializer_list>

namespace predgen {
namespace {

/// Reads a text from left to right. Once it has ended too early, nothing else matches.
class CallReader {
 public:
  CallReader(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t at() const { return at_; }
  bool is_at_end() const { return at_ == text_.size(); }
  /// Passes as many of these characters as there are.
  size_t pass_all(std::string_view characters) {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_not_of(characters, at_), text_.size());
    return at_ - begin;
  }
  void pass_space() { pass_all(" \t\r\n"); }
  /// Passes `word`, or what there is of it at the end of the text.
  bool pass(std::string_view word) {
    const std::string_view rest = text_.substr(at_, word.size());
    if (!word.starts_with(rest)) return false;
    at_ += rest.size();
    return true;
  }
  /// Passes all of these, with white space in front of each, or nothing.
  bool pass_words(std::initializer_list<std::string_view> words) {
    CallReader next = *this;
    for (const std::string_view word : words) {
      next.pass_space();
      if (!next.pass(word)) return false;
    }
    at_ = next.at_;
    return true;
  }
  /// Passes what comes before `end`.
  void pass_until(char end) { at_ = std::min(text_.find(end, at_), text_.size()); }

 private:
  const std::string_view text_;
  size_t at_;
};

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

/// The call that begins at `begin`, if one does.
std::optional<WrittenCall> call_at(std::string_view text, size_t begin,
                                   const std::vector<std::string>& names) {
  CallReader reader(text, begin);
  WrittenCall call{.begin = begin};
  const size_t fence = reader.pass_all("`");
  if (fence > 2) reader.pass_all(kLetters);
  if (fence > 0) reader.pass_space();
  size_t json = reader.at();
  bool is_list = reader.pass("[");
  if (!reader.pass_words({"{"})) return std::nullopt;
  int num_open = 1;
  if (!is_list && reader.pass_words({"{"})) ++num_open;  // doubled
  while (!reader.is_at_end()) {                          // what wraps it
    if (reader.pass_words({"\"type\"", ":", "\"function\"", ","})) continue;
    if (reader.pass_words({"\"id\"", ":", "\""})) {
      reader.pass_until('"');
      if (!reader.pass_words({"\"", ","})) return std::nullopt;
    } else if (!is_list && reader.pass_words({"\"tool_calls\"", ":"})) {
      reader.pass_space();
      json = reader.at();
      call.num_braces = num_open;
      is_list = true;
      if (!reader.pass_words({"[", "{"})) return std::nullopt;
    } else if (reader.pass_words({"\"function\"", ":", "{"})) {
      if (is_list) continue;
      json = reader.at() - 1;
      call.num_braces = num_open++;
    } else {
      break;
    }
  }
  if (!reader.pass_words({"\"name\"", ":", "\""}) &&
      !reader.pass_words({"\"function\"", ":", "\""})) {
    return std::nullopt;
  }
  for (const std::string& name : names) {
    CallReader rest = reader;
    if (!rest.pass(name + '"')) continue;
    const bool is_told = !rest.is_at_end() || text.substr(reader.at()) == name + '"';
    if (is_told) call.json = json;
    return call;
  }
  return std::nullopt;
}

}  // namespace

std::optional<WrittenCall> find_written_call(std::string_view text,
                                             const std::vector<std::string>& names) {
  for (size_t at = text.find_first_of("`[{"); at != std::string_view::npos;
       at = text.find_first_of("`[{", at + 1)) {
    if (auto call = call_at(text, at, names)) return call;
  }
  return std::nullopt;
}

}  // namespace predgen
