#pragma once

#include <string>

namespace predgen {

/// The message of libsndfile's sf_strerror(), for the end of a sentence: "System error : No such
/// file or directory." becomes "No such file or directory".
inline std::string sound_error(std::string text) {
  const std::string system = "System error : ";
  if (text.starts_with(system)) text.erase(0, system.size());
  while (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace predgen
