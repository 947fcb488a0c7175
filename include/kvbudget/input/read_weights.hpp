// Exact weight bytes of a model, from the headers of its files. Tensor data are never read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <kvbudget/compiled.hpp>
#include <kvbudget/input/model_weights.hpp>

namespace kvbudget {

/// The weights of a model: a safetensors file; a *.safetensors.index.json with its shards; a GGUF file (by its magic,
/// whatever its name) with all parts when it is split; a folder with one of these. Throws config_error: a file that
/// cannot be read or is missing, all that read_safetensors and read_gguf_header refuse, a tensor that two files have,
/// an index that does not say what the shards have.
[[nodiscard]] model_weights read_weights(const std::string& path);

/// The total that an index states (metadata.total_size), where none of its shards is there: `path` is the index, or a
/// folder with the usual one. Nothing in any other case. Throws config_error for an index that cannot be read.
[[nodiscard]] std::optional<std::uint64_t> total_of_index_alone(const std::string& path);

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/input/read_weights.ipp>
#endif
