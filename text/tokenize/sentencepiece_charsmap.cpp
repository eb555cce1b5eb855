#include "text/tokenize/sentencepiece_charsmap.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/error.h"

namespace predgen {
namespace {

/// A unit of the double-array trie, as the library Darts-clone packs it.
struct Unit {
  uint32_t bits;
  uint32_t label() const { return bits & (1U << 31 | 0xFF); }
  uint32_t offset() const { return (bits >> 10) << ((bits & 1U << 9) >> 6); }
  bool has_leaf() const { return bits >> 8 & 1; }
  uint32_t value() const { return bits & ~(1U << 31); }
};

bool is_sound(const std::vector<Unit>& units, std::string_view texts) {
  std::vector<bool> seen(units.size());
  std::vector<size_t> open;  // bases of the child nodes still to visit
  const auto enter = [&](size_t at) {
    if (at >= units.size()) return false;
    if (!seen[at]) open.push_back(at);
    seen[at] = true;
    return true;
  };
  if (units.empty() || texts.empty() || texts.back() != '\0' || !enter(units[0].offset())) {
    return false;
  }
  while (!open.empty()) {
    const size_t base = open.back();
    open.pop_back();
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const size_t at = base ^ byte;
      if (at >= units.size()) return false;
      if (units[at].label() != byte) continue;
      const size_t next = at ^ units[at].offset();
      if (!enter(next)) return false;
      if (units[at].has_leaf() && units[next].value() >= texts.size()) return false;
    }
  }
  return true;
}

}  // namespace

void check_charsmap(std::string_view charsmap, const std::string& where) {
  if (charsmap.empty()) return;
  uint32_t size = 0;
  if (charsmap.size() > sizeof size) {
    std::memcpy(&size, charsmap.data(), sizeof size);
    charsmap.remove_prefix(sizeof size);
    if (size < charsmap.size() && size % sizeof(Unit) == 0) {
      std::vector<Unit> units(size / sizeof(Unit));
      std::memcpy(units.data(), charsmap.data(), size);
      if (is_sound(units, charsmap.substr(size))) return;
    }
  }
  throw UserError("{}: its normalisation rules (precompiled_charsmap) are damaged", where);
}

}  // namespace predgen
