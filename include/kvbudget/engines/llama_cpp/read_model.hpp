// A model as llama.cpp loads it, from a config.json through the converter or from GGUF metadata.
#pragma once

#include <kvbudget/engines/llama_cpp/convert.hpp>
#include <kvbudget/engines/llama_cpp/gguf_metadata.hpp>

namespace kvbudget::detail::llama_cpp {

/// The model of a config.json, or of GGUF metadata. Throws config_error.
[[nodiscard]] inline hparams read_model(const config::document& d) {
  if (gguf_architecture(config::node(d))) return load_hparams(read_gguf_metadata(d));
  return load_hparams(convert(hf_source(d)));
}

}  // namespace kvbudget::detail::llama_cpp
