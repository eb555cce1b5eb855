#include "hear/asr/paired_decoder.h"

namespace predgen::ears {

DecoderPace PairedDecoder::pace() const {
  DecoderPace pace = careful_->pace();
  pace.period = fast_->pace().period;
  return pace;
}

std::optional<Decoded> PairedDecoder::decode(const DecodeJob& job, const std::stop_token& stop) {
  if (job.need != Need::kPartial) return careful_->decode(job, stop);
  auto decoded = fast_->decode(job, stop);
  if (decoded) careful_->draft(job, decoded->text);
  return decoded;
}

void PairedDecoder::forget(uint32_t stream) {
  fast_->forget(stream);
  careful_->forget(stream);
}

}  // namespace predgen::ears
