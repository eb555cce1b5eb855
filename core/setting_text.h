#pragma once

#include <string>

#include "core/setting.h"

namespace predgen {

/// A table of Markdown, a row for each setting; those of sections by their full names.
std::string settings_table(const Settings& settings);
/// A YAML file of the values, with what they mean as comments.
std::string settings_yaml(const Settings& settings);

}  // namespace predgen
