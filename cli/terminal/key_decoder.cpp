#include "cli/terminal/key_decoder.h"

#include <algorithm>
#include <map>

#include "text/utf8.h"

namespace predgen::cli {
namespace {

using KeyKind = Key::Kind;

constexpr std::string_view kPasteBegin = "\033[200~", kPasteEnd = "\033[201~";

const std::map<char, KeyKind> kControls{
    {0x01, KeyKind::kHome},        {0x02, KeyKind::kLeft},     {0x03, KeyKind::kCancel},
    {0x04, KeyKind::kLeave},       {0x05, KeyKind::kEnd},      {0x06, KeyKind::kRight},
    {0x08, KeyKind::kBackspace},   {0x0A, KeyKind::kEnter},    {0x0B, KeyKind::kKillToEnd},
    {0x0D, KeyKind::kEnter},       {0x0E, KeyKind::kDown},     {0x10, KeyKind::kUp},
    {0x15, KeyKind::kKillToStart}, {0x17, KeyKind::kKillWord}, {0x1A, KeyKind::kSuspend},
    {0x7F, KeyKind::kBackspace},
};

// What follows ESC [ or ESC O.
const std::map<std::string, KeyKind, std::less<>> kSequences{
    {"A", KeyKind::kUp},          {"B", KeyKind::kDown},         {"C", KeyKind::kRight},
    {"D", KeyKind::kLeft},        {"H", KeyKind::kHome},         {"F", KeyKind::kEnd},
    {"1~", KeyKind::kHome},       {"7~", KeyKind::kHome},        {"4~", KeyKind::kEnd},
    {"8~", KeyKind::kEnd},        {"3~", KeyKind::kDelete},      {"1;5C", KeyKind::kWordRight},
    {"1;5D", KeyKind::kWordLeft}, {"1;3C", KeyKind::kWordRight}, {"1;3D", KeyKind::kWordLeft},
};

// What follows ESC when Alt is held.
const std::map<char, Key> kAlt{{'b', {KeyKind::kWordLeft}},  {'f', {KeyKind::kWordRight}},
                               {0x7F, {KeyKind::kKillWord}}, {0x08, {KeyKind::kKillWord}},
                               {0x0D, {.text = "\n"}},       {0x0A, {.text = "\n"}}};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// Terminals send a pasted line break as either \r, \n or both.
std::string cleaned(std::string_view pasted) {
  std::string text;
  for (size_t i = 0; i < pasted.size(); ++i) {
    if (pasted[i] == '\r') {
      text += '\n';
      if (i + 1 < pasted.size() && pasted[i + 1] == '\n') ++i;
    } else if (!is_control(pasted[i]) || pasted[i] == '\n' || pasted[i] == '\t') {
      text += pasted[i];
    }
  }
  return replace_ill_formed_utf8(text);
}

}  // namespace

std::vector<Key> KeyDecoder::push(std::string_view bytes) {
  pending_ += bytes;
  std::vector<Key> keys;
  while (!pending_.empty() && take(keys)) {
  }
  return keys;
}

void KeyDecoder::give_up() {
  if (is_waiting()) pending_.clear();
}

bool KeyDecoder::take(std::vector<Key>& keys) {
  if (in_paste_) return take_paste(keys);
  const char first = pending_.front();
  if (first == '\033') return take_escape(keys);
  if (!is_control(first)) return take_text(keys);
  if (first == '\t') keys.push_back({.text = "\t"});
  if (const auto control = kControls.find(first); control != kControls.end()) {
    keys.push_back({control->second});
  }
  pending_.erase(0, 1);
  return true;
}

bool KeyDecoder::take_escape(std::vector<Key>& keys) {
  if (pending_.size() < 2) return false;
  if (pending_[1] != '[' && pending_[1] != 'O') {
    if (const auto alt = kAlt.find(pending_[1]); alt != kAlt.end()) {
      keys.push_back(alt->second);
      pending_.erase(0, 2);
    } else {
      pending_.erase(0, 1);  // Escape itself does nothing
    }
    return true;
  }
  // Parameters and intermediates, then one byte that ends the sequence.
  const auto last = std::find_if(pending_.begin() + 2, pending_.end(),
                                 [](char c) { return c < 0x20 || c > 0x3F; });
  if (last == pending_.end()) return false;
  const size_t length = static_cast<size_t>(last - pending_.begin()) + 1;
  const std::string_view sequence(pending_.data(), length);
  in_paste_ = sequence == kPasteBegin;
  if (const auto found = kSequences.find(sequence.substr(2)); found != kSequences.end()) {
    keys.push_back({found->second});
  }
  pending_.erase(0, length);
  return true;
}

bool KeyDecoder::take_paste(std::vector<Key>& keys) {
  const size_t end = pending_.find(kPasteEnd);
  if (end == std::string::npos) return false;
  if (end > 0) keys.push_back({.text = cleaned(std::string_view(pending_).substr(0, end))});
  pending_.erase(0, end + kPasteEnd.size());
  in_paste_ = false;
  return true;
}

bool KeyDecoder::take_text(std::vector<Key>& keys) {
  const auto run_end = std::find_if(pending_.begin(), pending_.end(), is_control);
  size_t length = static_cast<size_t>(run_end - pending_.begin());
  if (run_end == pending_.end()) length = complete_utf8_length(pending_);
  if (length == 0) return false;
  keys.push_back({.text = replace_ill_formed_utf8(std::string_view(pending_).substr(0, length))});
  pending_.erase(0, length);
  return true;
}

}  // namespace predgen::cli
