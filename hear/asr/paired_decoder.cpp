#include "hear/asr/paired_decoder.h"

namespace predgen::ears {

DecoderPace PairedDecoder::pace() const {
  DecoderPace pace = careful_->pace();
  pace.period = fast_->pace().period;
  return pace;
}

std::optional<Decoded> PairedDecoder::decode(const DecodeJob& job, const std::stop_token& stop) {
  if (job.need == Need::kPartial) {
    auto decoded = fast_->decode(job, stop);
    if (decoded) heard_[job.stream] = {.segment = job.segment, .text = decoded->text};
    return decoded;
  }
  const auto heard = heard_.find(job.stream);
  if (heard != heard_.end() && heard->second.segment == job.segment) {
    careful_->draft(job, heard->second.text);
  }
  auto decoded = careful_->decode(job, stop);
  if (decoded) heard_.erase(job.stream);
  return decoded;
}

void PairedDecoder::forget(uint32_t stream) {
  fast_->forget(stream);
  careful_->forget(stream);
  heard_.erase(stream);
}

}  // namespace predgen::ears
