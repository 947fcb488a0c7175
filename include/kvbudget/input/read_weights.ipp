// Definitions of read_weights.hpp.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>
#include <kvbudget/input/gguf.hpp>
#include <kvbudget/input/safetensors.hpp>
#include <kvbudget/input/read_weights.hpp>

namespace kvbudget {

namespace detail {

[[nodiscard]] inline std::vector<weight_tensor> read_safetensors_file(const std::string& path) {
  return with_file(path,
                   [&](std::istream& stream, std::uint64_t size) { return read_safetensors(stream, size, path); });
}

[[nodiscard]] inline model_weights read_safetensors_files(const std::vector<std::string>& paths) {
  weights_builder builder;
  for (const std::string& path : paths) builder.add(path, read_safetensors_file(path));
  return builder.finish();
}

/// An index of shards: the document, and the names of the shards in order.
struct shard_index {
  config::document document;
  std::vector<std::string> shards;
};
[[nodiscard]] inline shard_index read_shard_index(const std::string& path) {
  shard_index index;
  index.document = with_file(path, [&](std::istream& stream, std::uint64_t size) {
    byte_reader in(stream, size, path);
    if (size > max_safetensors_header) {
      in.fail(0, std::to_string(size), "too long for an index",
              "at most " + std::to_string(max_safetensors_header) + " bytes");
    }
    return parse_without_repeated_keys(in.text(size, "the index"), path);
  });
  const config::node root(index.document);
  const auto map = root.object("weight_map");
  if (!map) root.fail_missing("weight_map", "an object that names the file of each tensor");
  for (const auto& [tensor, file] : map->value().items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name == ".." || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos) {
      map->fail(tensor, file, "no name of a file", "a file beside the index");
    }
    if (index.shards.empty() || index.shards.back() != name) index.shards.push_back(name);
  }
  std::sort(index.shards.begin(), index.shards.end());
  index.shards.erase(std::unique(index.shards.begin(), index.shards.end()), index.shards.end());
  return index;
}

/// The shards that an index names, and nothing in them that it does not name.
[[nodiscard]] inline model_weights read_safetensors_index(const std::string& path) {
  const shard_index index = read_shard_index(path);
  const auto map = config::node(index.document).object("weight_map");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  weights_builder builder;
  for (const std::string& name : index.shards) {
    const std::string shard = (folder / name).string();
    builder.add(shard, read_safetensors_file(shard));
  }
  for (const auto& [tensor, file] : map->value().items()) {
    const std::string* const holder = builder.find(tensor);
    if (holder == nullptr || *holder != (folder / file.get_ref<const std::string&>()).string()) {
      map->fail(tensor, file,
                holder == nullptr ? "this file does not have the tensor" : "another file has the tensor: " + *holder,
                "the file that has it");
    }
  }
  for (const weight_tensor& t : builder.so_far().tensors) {
    if (!map->value().contains(t.name)) {
      throw config_error({builder.so_far().files[t.file], t.name, ""}, "not in the index " + path,
                         "tensors that the index names");
    }
  }
  return builder.finish();
}

[[nodiscard]] inline model_weights read_gguf_weights(const std::string& path) {
  const std::vector<std::string> parts = gguf_parts(path, read_gguf_header(path));
  weights_builder builder;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    with_file(parts[i], [&](std::istream& stream, std::uint64_t size) {
      gguf_header header = read_gguf_header(stream, size, parts[i]);
      if (header.data_end > size) {
        throw config_error({parts[i], "byte " + std::to_string(size), ""},
                           "the data of the tensors end beyond the file (truncated?)",
                           std::to_string(header.data_end) + " bytes");
      }
      const config::document d{std::move(header.metadata), parts[i]};
      const config::node root(d);
      if (parts.size() > 1 && (root.count("split.no") != i || root.count("split.count") != parts.size())) {
        throw config_error({parts[i], "split.no", ""}, "not the part that its name says",
                           "part " + std::to_string(i) + " of " + std::to_string(parts.size()));
      }
      builder.add(parts[i], std::move(header.tensors));
      const auto all = i > 0 && i + 1 == parts.size() ? root.count("split.tensors.count") : std::nullopt;
      if (all && *all != builder.so_far().tensors.size()) {
        root.fail("split.tensors.count", d.root["split.tensors.count"], "not the tensors of all parts together",
                  std::to_string(builder.so_far().tensors.size()));
      }
    });
  }
  return builder.finish();
}

/// Weight files of a folder, by what they are.
class weights_folder {
 public:
  explicit weights_folder(const std::string& path) : path_(path), folder_(path) {
    std::error_code error;
    std::filesystem::directory_iterator entries(folder_, error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
      const std::string name = entries->path().filename().string();
      if (ends_with(name, ".safetensors.index.json")) indices_.push_back(name);
      else if (ends_with(name, ".gguf")) gguf_.push_back(name);
      else if (!ends_with(name, ".safetensors")) continue;
      else (name.substr(0, 12) == "consolidated" ? consolidated_ : files_).push_back(name);
    }
    if (error) throw config_error({path, "", ""}, "cannot be read", "a readable folder");
    for (auto* const list : {&indices_, &files_, &consolidated_, &gguf_}) std::sort(list->begin(), list->end());
  }

  [[nodiscard]] model_weights read() const {
    constexpr const char* usual_index = "model.safetensors.index.json";
    if (has(indices_, usual_index)) return read_safetensors_index(in_folder(usual_index));
    if (has(files_, "model.safetensors")) return read_safetensors_files({in_folder("model.safetensors")});
    if (indices_.size() > 1) refuse("several indices", indices_);
    if (indices_.size() == 1) return read_safetensors_index(in_folder(indices_[0]));
    if (!files_.empty()) return read_parts(files_);
    if (!consolidated_.empty()) return read_parts(consolidated_);
    return read_gguf();
  }

 private:
  using names = std::vector<std::string>;

  [[nodiscard]] static bool has(const names& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  }
  [[nodiscard]] std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }
  [[noreturn]] void refuse(const std::string& problem, const names& found) const {
    std::string listed;
    for (std::size_t i = 0; i < found.size() && i < 8; ++i) listed += (i == 0 ? "" : ", ") + found[i];
    throw config_error({path_, "", listed}, problem, "one model in a folder, or the path of one file");
  }

  /// All files together; where they are numbered, all parts must be there.
  [[nodiscard]] model_weights read_parts(const names& files) const {
    std::uint64_t parts = 0, numbered = 0;
    names paths;
    for (const std::string& name : files) {
      const part_number p = part_of(name, ".safetensors");
      parts = std::max(parts, p.parts);
      numbered += p.parts != 0 ? 1U : 0U;
      paths.push_back(in_folder(name));
    }
    if (numbered != parts) {
      refuse(std::to_string(numbered) + " of " + std::to_string(parts) + " parts are there, and no index", files);
    }
    return read_safetensors_files(paths);
  }
  [[nodiscard]] model_weights read_gguf() const {
    names models;  // of a split one the first part, or whichever there is
    std::string last_prefix;
    for (const std::string& name : gguf_) {
      const part_number p = part_of(name, ".gguf");
      const std::string prefix = p.parts != 0 ? name.substr(0, name.size() - 20) : "";
      if (prefix.empty() || prefix != last_prefix) models.push_back(name);
      last_prefix = prefix;
    }
    if (models.size() > 1) refuse("several GGUF models", models);
    if (models.size() == 1) return read_gguf_weights(in_folder(models[0]));
    throw config_error({path_, "", ""}, "no weights in this folder", "safetensors or GGUF files");
  }

  std::string path_;
  std::filesystem::path folder_;
  names indices_, files_, consolidated_, gguf_;
};

/// A folder as vLLM and transformers read it: model.safetensors.index.json, else model.safetensors, else the only other
/// index, else all safetensors files together. (Where the first two are both there, vLLM follows the index as is done
/// here; transformers takes the single file.) Mistral's consolidated*.safetensors hold the same model a second time and
/// count only when there is nothing else. GGUF files count where there are no safetensors; one model only.
/// Sources: vLLM model_executor/model_loader/default_loader.py and weight_utils.py
/// (filter_duplicate_safetensors_files), transformers modeling_utils.py (_get_resolved_checkpoint_files).
[[nodiscard]] inline model_weights read_weights_folder(const std::string& path) { return weights_folder(path).read(); }

}  // namespace detail

KVBUDGET_INLINE model_weights read_weights(const std::string& path) {
  std::error_code ignored;
  model_weights weights = std::filesystem::is_directory(path, ignored) ? detail::read_weights_folder(path)
                          : detail::is_gguf_file(path)                 ? detail::read_gguf_weights(path)
                          : detail::ends_with(path, ".json")           ? detail::read_safetensors_index(path)
                                                                       : detail::read_safetensors_files({path});
  if (weights.tensors.empty()) throw config_error({path, "", ""}, "no tensors", "the weights of a model");
  return weights;
}

KVBUDGET_INLINE std::optional<std::uint64_t> total_of_index_alone(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path index(path);
  if (std::filesystem::is_directory(index, ignored)) index /= "model.safetensors.index.json";
  if (!detail::ends_with(index.string(), ".index.json") || !std::filesystem::is_regular_file(index, ignored)) {
    return std::nullopt;
  }
  const detail::shard_index found = detail::read_shard_index(index.string());
  for (const std::string& shard : found.shards) {
    if (std::filesystem::exists(std::filesystem::symlink_status(index.parent_path() / shard, ignored))) {
      return std::nullopt;
    }
  }
  const auto metadata = detail::config::node(found.document).object("metadata");
  return metadata ? metadata->count("total_size", 1, ~std::uint64_t{0} >> 1U) : std::nullopt;
}

}  // namespace kvbudget
