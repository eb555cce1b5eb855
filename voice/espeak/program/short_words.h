// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

/// `text` with blanks in words that espeak-ng 1.51 has no room for: of more than 100 bytes, and of
/// more than 12 dotted letters ("a.b.c."), which it collects in 80 bytes without a bounds check.
std::string in_short_words(const std::string& text);
