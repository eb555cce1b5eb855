#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// Checks a sentencepiece file's precompiled normalisation rules (normalizer_spec's
/// precompiled_charsmap: the trie's size, a double-array trie in 32-bit units, texts that end with
/// a zero byte). The library walks the trie without bounds checks. UserError naming `where` if any
/// text could lead it out of bounds.
void check_charsmap(std::string_view charsmap, const std::string& where);

}  // namespace predgen
