#include "model/stored_type.h"

#include "core/error.h"

namespace predgen {

std::string stored_type(const ConfigFields& fields) {
  constexpr const char* kKey = "quantization_config";
  if (!fields.has(kKey)) return "";
  const ConfigFields found(fields.at(kKey), fields.where() + ": " + kKey);
  const std::string method = found.word("quant_method", "");
  if (method == "mxfp4") return method;
  if (method == "bitsandbytes" && found.flag("load_in_4bit", false)) {
    std::string type = found.word("bnb_4bit_quant_type", "fp4");
    if (type == "nf4" || type == "fp4") return type;
  }
  throw UserError(
      "{}: \"{}\" is not supported, except for bitsandbytes in 4 bits (nf4, fp4) and mxfp4: take "
      "the "
      "model in bfloat16, or a GGUF file of it",
      fields.where(), kKey);
}

}  // namespace predgen
