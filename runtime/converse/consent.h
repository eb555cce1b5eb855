#pragma once

#include <string>

namespace predgen {

/// Whether somebody who was asked whether to do something says yes, and nothing else: at most six
/// words that begin with one of "yes", "ok", "please do" and their like in some languages, without
/// a no, a but or a wait.
bool is_consent(const std::string& words);

}  // namespace predgen
