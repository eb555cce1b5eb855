#pragma once

#include "text/token_ids.h"

namespace predgen::serve {

/// Whether an answer can only be in a loop: it ends in the same tokens, up to 64, four times in a
/// row and at least 48 tokens long. Lists, tables and code repeat themselves, too, but not like
/// that.
bool ends_in_loop(TokenSpan answer);

}  // namespace predgen::serve
