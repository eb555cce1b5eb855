// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

/// Makes `name` (what espeak_SetVoiceByName takes) the voice; does nothing if it already is, unless
/// `again`. False: unknown or empty.
bool set_voice(const std::string& name, bool again = false);

/// The languages of the voices in espeak's list, each one once, in order.
std::vector<std::string> listed_languages();

/// The first voice of espeak's list whose first language is `code`; empty if there is none. Using
/// codes as names would fail for en-gb and fr-fr.
std::string voice_of_language(const std::string& code);
