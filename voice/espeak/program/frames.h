// What this program writes; README.md has the protocol.
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string_view>

/// Writes a whole frame. Ends the program if that fails: the client is gone, and so is our purpose.
void write_frame(char type, std::string_view payload);
