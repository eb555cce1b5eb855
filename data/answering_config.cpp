#include "data/answering_config.h"

namespace predgen::data {

void AnsweringConfig::read_answering(ConfigReader& reader) {
  reader.required("model", model);
  reader.optional("chat_template", chat_template);
  reader.required("output", output);
  reader.optional("device", device);
  reader.optional("dtype", dtype);
  reader.optional("seed", seed, int64_t{0}, int64_t{1} << 40);
  reader.optional("batch_tokens", batch_tokens, int64_t{1}, int64_t{1} << 20);
  reader.optional("threads", threads, int64_t{0}, int64_t{1024});
}

}  // namespace predgen::data
