#include "evaluate/json_rows.h"

#include <fstream>

#include "core/text.h"
#include "data/conversation.h"

namespace predgen::evaluate {

void for_each_row(const std::filesystem::path& file,
                  const std::function<void(const Json& row, const std::string& where)>& use) {
  if (!std::filesystem::exists(file)) throw data::missing_data(file);
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file)) {
    throw UserError("{}: cannot be read", file.string());
  }
  std::string line;
  for (int64_t number = 1; std::getline(stream, line); ++number) {
    if (is_blank(line)) continue;
    const std::string where = fmt::format("{}:{}", file.string(), number);
    use(parse_json(line, where), where);
  }
}

}  // namespace predgen::evaluate
