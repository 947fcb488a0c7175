// Definitions of locate.hpp.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <kvbudget/input/document.hpp>
#include <kvbudget/input/gguf_document.hpp>
#include <kvbudget/input/locate.hpp>

namespace kvbudget {

namespace detail {

[[nodiscard]] inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// What was read, as programs hand it on.
[[nodiscard]] inline located_config located(config::document d, std::string revision) {
  std::string file = d.file;
  return {std::make_shared<const config::document>(std::move(d)), nullptr, std::move(file), std::move(revision)};
}
[[nodiscard]] inline std::shared_ptr<const config::document> shared_document(const std::string& path) {
  return std::make_shared<const config::document>(config::read_document(path));
}

/// The hub cache as huggingface_hub finds it: HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub.
[[nodiscard]] inline std::filesystem::path hub_cache() {
  if (const std::string own = environment("HF_HUB_CACHE"); !own.empty()) return own;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return std::filesystem::path(home) / "hub";
  std::filesystem::path cache = environment("XDG_CACHE_HOME");
  if (cache.empty()) cache = std::filesystem::path(environment("HOME")) / ".cache";
  return cache / "huggingface" / "hub";
}

/// "org/name" or "org/name@revision", with the characters that the hub allows.
[[nodiscard]] inline bool is_model_id(std::string_view text) {
  std::size_t slashes = 0;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == '/') ++slashes;
    else if (!letter && c != '-' && c != '_' && c != '.' && c != '@') return false;
  }
  return slashes == 1 && text.front() != '/' && text.front() != '.' && text.back() != '/' &&
         text.find("..") == text.npos;
}

/// A regular file, or a link to one.
[[nodiscard]] inline bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// The GGUF file of a folder that has no config.json: the only one, or the first part of a split model. Throws
/// config_error where there is none, or several.
[[nodiscard]] inline std::string gguf_of_folder(const std::filesystem::path& folder) {
  std::vector<std::string> models;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    const part_number part = part_of(name, ".gguf");
    const bool first = part.parts == 0 || part.part == 1;
    if (ends_with(name, ".gguf") && name.substr(0, 6) != "mmproj" && first && is_file(entries->path())) {
      models.push_back(name);
    }
  }
  std::sort(models.begin(), models.end());
  if (models.size() == 1) return (folder / models[0]).string();
  std::string listed;
  for (std::size_t i = 0; i < models.size() && i < 8; ++i) listed += (i == 0 ? "" : ", ") + models[i];
  throw config_error({folder.string(), "", listed}, models.empty() ? "no config.json here" : "several GGUF models",
                     "a folder with a config.json, or with one GGUF model");
}

[[nodiscard]] inline located_config from_folder(const std::filesystem::path& folder, std::string revision) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(folder / "config.json", ignored))) {
    return located(config::read_gguf_document(gguf_of_folder(folder)), std::move(revision));
  }
  if (!is_file(folder / "config.json")) {
    throw config_error({(folder / "config.json").string(), "", ""}, "cannot be read", "a readable file");
  }
  located_config found = located(config::read_document((folder / "config.json").string()), std::move(revision));
  const auto quant = folder / "hf_quant_config.json";
  if (is_file(quant)) found.hf_quant_config = shared_document(quant.string());
  return found;
}

[[nodiscard]] inline located_config from_hub_cache(const std::string& id) {
  const std::size_t at = id.find('@');
  const std::string wanted = at == id.npos ? "main" : id.substr(at + 1);
  const std::size_t slash = id.find('/');
  const std::string folder =
      "models--" + id.substr(0, slash) + "--" + id.substr(slash + 1, at == id.npos ? at : at - slash - 1);
  const std::filesystem::path model = hub_cache() / folder;
  std::string revision = wanted;
  if (std::ifstream reference(model / "refs" / wanted); reference) std::getline(reference, revision);
  const std::filesystem::path snapshot = model / "snapshots" / revision;
  std::error_code ignored;
  if (!std::filesystem::is_directory(snapshot, ignored)) {
    throw config_error({id, "", ""},
                       "neither a path nor a model in the local Hugging Face cache (" + hub_cache().string() + ")",
                       "a config.json, a folder that holds one, '-', or a cached model id");
  }
  return from_folder(snapshot, revision);
}

}  // namespace detail

KVBUDGET_INLINE located_config locate_config(const std::string& name) {
  if (name == "-") {
    std::string text = detail::config::read_limited(std::cin);
    if (text.substr(0, 4) == detail::gguf_magic) {
      // Of a whole model the header is enough.
      char piece[1U << 16U];
      while (text.size() < detail::max_gguf_header && std::cin.read(piece, sizeof piece).gcount() > 0) {
        text.append(piece, static_cast<std::size_t>(std::cin.gcount()));
      }
      std::istringstream stream(text);
      return detail::located(detail::config::read_gguf_document(stream, text.size(), "standard input"), "");
    }
    detail::config::check_document_size(text, "standard input");
    return detail::located(detail::config::parse_document(text, "standard input"), "");
  }
  const std::filesystem::path path(name);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return detail::from_folder(path, "");
  if (!std::filesystem::exists(path, ignored) && detail::is_model_id(name)) return detail::from_hub_cache(name);
  if (detail::is_gguf_file(name)) return detail::located(detail::config::read_gguf_document(name), "");
  located_config found = detail::located(detail::config::read_document(name), "");
  const auto quant = path.parent_path() / "hf_quant_config.json";
  if (path.filename() == "config.json" && detail::is_file(quant)) {
    found.hf_quant_config = detail::shared_document(quant.string());
  }
  return found;
}

KVBUDGET_INLINE located_config parse_config(const std::string& text, const std::string& file) {
  detail::config::check_document_size(text, file);
  return detail::located(detail::config::parse_document(text, file), "");
}

}  // namespace kvbudget
