// Where a config is: a file (JSON or GGUF), a folder, standard input, or a model in the local Hugging Face cache.
#pragma once

#include <string>

#include <kvbudget/compiled.hpp>
#include <kvbudget/input/located_config.hpp>

namespace kvbudget {

/// `name` is a file (a GGUF file by its magic), a folder with a config.json (and perhaps hf_quant_config.json), "-" for
/// standard input, or a model id with an optional "@revision" that the local cache holds. A path that exists wins.
/// Nothing is downloaded.
/// Throws config_error.
[[nodiscard]] located_config locate_config(const std::string& name);

/// A config.json as text; `file` is the name under which errors speak of it. Throws config_error.
[[nodiscard]] located_config parse_config(const std::string& text, const std::string& file = "config.json");

}  // namespace kvbudget

#ifndef KVBUDGET_COMPILED
#include <kvbudget/input/locate.ipp>
#endif
