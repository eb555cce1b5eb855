#pragma once

// Replaces llama.cpp's header of this name: the JSON type that its Jinja engine reads.
#include <nlohmann/json.hpp>

using common_json = nlohmann::ordered_json;
