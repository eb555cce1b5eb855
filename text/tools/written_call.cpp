#include "text/tools/written_call.h"

#include <algorithm>

namespace predgen {
namespace {

/// Reads a text from left to right. Once it has ended too early, nothing else matches.
class Reader {
 public:
  Reader(std::string_view text, size_t at) : text_(text), at_(at) {}

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

 private:
  const std::string_view text_;
  size_t at_;
};

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

/// The call that begins at `begin`, if one does.
std::optional<WrittenCall> call_at(std::string_view text, size_t begin,
                                   const std::vector<std::string>& names) {
  Reader reader(text, begin);
  WrittenCall call{.begin = begin};
  const size_t fence = reader.pass_all("`");
  if (fence > 2) reader.pass_all(kLetters);
  if (fence > 0) reader.pass_space();
  const size_t json = reader.at();
  const bool is_list = reader.pass("[");
  reader.pass_space();
  if (!reader.pass("{")) return std::nullopt;
  reader.pass_space();
  if (!is_list) reader.pass("{");  // doubled
  for (const char* word : {"\"name\"", ":", "\""}) {
    reader.pass_space();
    if (!reader.pass(word)) return std::nullopt;
  }
  for (const std::string& name : names) {
    Reader rest = reader;
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
