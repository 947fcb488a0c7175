// The metadata of a GGUF file as a document: what llama_cpp::evaluate reads in place of a config.json.
#pragma once

#include <string>

#include <kvbudget/input/document.hpp>
#include <kvbudget/input/gguf.hpp>

namespace kvbudget::detail::config {

/// deepseek4 counts its prediction layers by the file, but has none when their tensors were left out
/// (llama_model_deepseek4::load_arch_hparams). Of all that llama.cpp takes from tensors or the vocabulary, this alone
/// changes a cache: the rest is names of sizes, optional tensors, and what a draft model asks of its target.
inline void drop_absent_prediction_layers(json& metadata, const std::vector<weight_tensor>& tensors) {
  const auto architecture = metadata.find("general.architecture");
  if (architecture == metadata.end() || *architecture != "deepseek4") return;
  const auto predicted = metadata.find("deepseek4.nextn_predict_layers");
  const auto blocks = metadata.find("deepseek4.block_count");
  if (predicted == metadata.end() || blocks == metadata.end() || !predicted->is_number_unsigned() ||
      !blocks->is_number_unsigned() || blocks->get<std::uint64_t>() < predicted->get<std::uint64_t>()) {
    return;
  }
  const std::uint64_t trunk = blocks->get<std::uint64_t>() - predicted->get<std::uint64_t>();
  const std::string probe = "blk." + std::to_string(trunk) + ".nextn.eh_proj.weight";
  for (const weight_tensor& t : tensors) {
    if (t.name == probe) return;
  }
  *predicted = 0U;
}

inline void require_architecture(const gguf_header& header, const std::string& file) {
  if (header.metadata.contains("general.architecture")) return;
  throw config_error({file, "general.architecture", ""}, "missing", "a model, or the first part of a split one");
}

/// The metadata of one file under GGUF's own keys ("llama.block_count": 32 …); `file` names it in errors. Vocabularies
/// are skipped (see gguf_header). The tensors' data need not be there. Throws config_error.
[[nodiscard]] inline document read_gguf_document(std::istream& stream, std::uint64_t size, const std::string& file) {
  gguf_header header = read_gguf_header(stream, size, file);
  require_architecture(header, file);
  drop_absent_prediction_layers(header.metadata, header.tensors);
  return {std::move(header.metadata), file, std::move(header.value_types)};
}

/// The same of the file at `path`; of a split model it is the first part, and the others are looked at only where
/// their tensors matter.
[[nodiscard]] inline document read_gguf_document(const std::string& path) {
  gguf_header header = read_gguf_header(path);
  require_architecture(header, path);
  if (header.metadata.contains("deepseek4.nextn_predict_layers")) {
    for (const std::string& part : gguf_parts(path, header)) {
      if (part == path) continue;
      for (weight_tensor& t : read_gguf_header(part).tensors) header.tensors.push_back(std::move(t));
    }
  }
  drop_absent_prediction_layers(header.metadata, header.tensors);
  return {std::move(header.metadata), path, std::move(header.value_types)};
}

}  // namespace kvbudget::detail::config
