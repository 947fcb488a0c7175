// The settings that llama.cpp's options and the common question make.
#pragma once

#include <kvbudget/engines/llama_cpp/cache_types.hpp>
#include <kvbudget/engine/options.hpp>
#include <kvbudget/engines/llama_cpp/options.hpp>
#include <kvbudget/engines/llama_cpp/rules.hpp>

namespace kvbudget::detail::llama_cpp {

/// The version whose source the rules are read from, and that was measured.
inline constexpr const char* measured_version = "0.5.0-dev (ggml 0.25.3)";

enum class default_set : std::uint8_t { server, command_line, c_api };
inline constexpr std::string_view default_set_names[] = {"server", "command_line", "c_api"};

[[nodiscard]] inline std::optional<storage_type> cache_type(const kvbudget::detail::option_reader& in,
                                                            std::string_view option, const std::string& text) {
  std::string known;
  const auto any_spelling = find_storage_type(text);
  for (const cache_type_name& c : cache_types) {
    if (c.name == text || (any_spelling && *any_spelling == c.type)) return c.type;
    known += (known.empty() ? "" : ", ") + std::string(c.name);
  }
  in.fail(option, config::json(text), "no cache type of llama.cpp", "one of " + known);
}

/// K and V may differ.
[[nodiscard]] inline storage_type read_type(const kvbudget::detail::option_reader& in, std::string_view option,
                                            const std::optional<storage_type>& asked, std::string_view said_as,
                                            storage_type otherwise) {
  std::optional<storage_type> own, common;
  if (const auto text = in.text(option)) own = cache_type(in, option, *text);
  if (asked) {
    if (own && *own != *asked) in.contradict(option, config::shown(name_of(*asked)), said_as);
    common = cache_type(in, option, std::string(name_of(*asked)));
  }
  return own ? *own : common.value_or(otherwise);
}

/// Positions of all sequences of a workload together.
[[nodiscard]] inline checked_count positions_of(const workload& w) {
  if (w.lengths.empty()) return (checked_count(w.prompt) + w.generated) * w.sequences;
  checked_count sum = 0U;
  for (const std::uint64_t n : w.lengths) sum += n;
  return sum;
}

/// The workload must fit into the context that the user asked for: all sequences together where they share one buffer,
/// else each of them. Throws usage_error.
inline void check_limit(const workload& w, const settings& s) {
  const auto padded = [](std::uint64_t n) { return round_up(checked_count(n), cells_pad); };
  const checked_count all = padded(s.n_ctx);
  const checked_count room = s.kv_unified ? all : padded((all / std::max<std::uint64_t>(s.n_seq_max, 1)).value());
  const checked_count asked = s.kv_unified ? positions_of(w) : checked_count(kvbudget::detail::longest_of(w));
  if (asked.fits(room.value())) return;
  throw usage_error({"", w.lengths.empty() ? "prompt" : "lengths", std::to_string(asked.value())},
                    "beyond n_ctx=" + std::to_string(s.n_ctx) +
                        (s.kv_unified ? ", which all sequences share"
                                      : " for " + std::to_string(s.n_seq_max) + " sequences, which leaves " +
                                            std::to_string(room.value()) + " positions for each"),
                    "at most " + std::to_string(room.value()));
}

[[nodiscard]] inline std::uint32_t in_32_bits(checked_count n, const char* said_as) {
  if (n.fits(any_32_bits)) return static_cast<std::uint32_t>(n.value());
  throw usage_error({"", said_as, n.valid() ? std::to_string(n.value()) : "more than 2^64 - 1"}, "unusable value",
                    "a whole number from 0 to " + std::to_string(any_32_bits));
}

/// llama.cpp divides n_ctx among n_seq_max sequences. A workload within the n_ctx and n_seq_max that the user gives is
/// answered for what the engine allocates for these; one beyond them is a usage error.
inline void read_workload(const kvbudget::detail::option_reader& in, const std::optional<workload>& asked, settings& s,
                          std::vector<std::string>& notes) {
  if (!asked) return;
  const workload& w = *asked;
  if (checked_count(kvbudget::detail::longest_of(w)) * w.sequences == checked_count(0U)) {
    throw usage_error({"", "prompt", "0"}, "no position: n_ctx 0 is the model's own length in llama.cpp", "at least 1");
  }
  if (in.has("n_seq_max")) {
    const std::uint64_t most = std::max<std::uint64_t>(s.n_seq_max, 1);
    if (w.sequences > most) {
      throw usage_error({"", w.lengths.empty() ? "sequences" : "lengths", std::to_string(w.sequences)},
                        "beyond n_seq_max=" + std::to_string(s.n_seq_max), "at most " + std::to_string(most));
    }
  } else {
    s.n_seq_max = in_32_bits(w.sequences, "sequences");
  }
  if (in.has("n_ctx")) {
    if (s.n_ctx != 0) check_limit(w, s);
  } else {
    const checked_count slots = std::max<std::uint64_t>(s.n_seq_max, 1);
    s.n_ctx =
        in_32_bits(s.kv_unified ? positions_of(w) : checked_count(kvbudget::detail::longest_of(w)) * slots, "prompt");
    notes.push_back(kvbudget::detail::planned_for("n_ctx", s.n_ctx));
  }
  if (!in.has("n_seq_max")) notes.push_back(kvbudget::detail::planned_for("n_seq_max", s.n_seq_max));
}

[[noreturn]] inline void refuse_placement(const char* option, const char* expected) {
  throw usage_error({"", option, ""}, "not computed for llama.cpp", expected);
}

/// Numbers of a list of at most 16. `read` takes one and throws.
template <class Read>
[[nodiscard]] auto read_list(const kvbudget::detail::option_reader& in, std::string_view option, const Read& read)
    -> std::optional<std::vector<decltype(read(config::json()))>> {
  const config::json* const list = in.find(option);
  if (list == nullptr) return std::nullopt;
  if (!list->is_array() || list->size() > max_devices) {
    in.fail(option, *list, "unusable value", "a list of at most 16 numbers");
  }
  std::vector<decltype(read(config::json()))> values;
  for (const config::json& entry : *list) values.push_back(read(entry));
  return values;
}

/// Whole layers on each GPU (split_mode layer), in parts by tensor_split. The output layer comes after the last one.
/// Devices that were asked about are there for the engine, too.
inline void read_placement(const kvbudget::detail::option_reader& in, const engine_question& q, settings& s) {
  const placement& where = q.where;
  if (where.tensor_parallel > 1) {
    refuse_placement("tensor-parallel", "pipeline-parallel: it keeps whole layers on a GPU");
  }
  if (where.context_parallel > 1) refuse_placement("context-parallel", "pipeline-parallel");
  if (where.data_parallel > 1) refuse_placement("data-parallel", "one plan for each process");
  if (where.host_layers > 0) refuse_placement("host-layers", "its own n_gpu_layers");
  std::optional<std::uint64_t> devices;
  if (where.pipeline_parallel > 1) devices = where.pipeline_parallel;
  const auto own = in.count("devices");
  s.devices = in_32_bits(in.agreed("devices", own, devices, "pipeline-parallel").value_or(q.device_name ? 1 : 0),
                         "pipeline-parallel");
  if (s.devices > max_devices) {
    throw usage_error({"", "pipeline-parallel", std::to_string(s.devices)}, "unusable value", "at most 16");
  }
  std::optional<std::vector<double>> parts;
  if (!where.stage_layers.empty()) {
    parts.emplace();
    for (const std::uint64_t n : where.stage_layers) {
      if (n > kvbudget::max_layers) {
        throw usage_error({"", "stage-layers", std::to_string(n)}, "too many layers", "at most 65536");
      }
      parts->push_back(static_cast<double>(n));
    }
    parts->back() += 1;
  }
  const auto split =
      in.agreed("tensor_split",
                read_list(in, "tensor_split",
                          [&](const config::json& value) {
                            if (!value.is_number() || !(value.get<double>() >= 0.0 && value.get<double>() <= 1e30)) {
                              in.fail("tensor_split", value, "unusable value", "numbers of at least 0");
                            }
                            return value.get<double>();
                          }),
                parts, "stage-layers");
  for (std::size_t i = 0; split && i < split->size(); ++i) s.tensor_split[i] = static_cast<float>((*split)[i]);
  const auto memory = read_list(in, "device_memory", [&](const config::json& value) {
    if (!value.is_number_integer() || value < 0) in.fail("device_memory", value, "unusable value", "numbers of bytes");
    return value.get<std::uint64_t>();
  });
  for (std::size_t i = 0; memory && i < memory->size(); ++i) s.device_memory[i] = (*memory)[i];
}

[[nodiscard]] inline settings defaults_of(default_set set, bool sequences_are_given) {
  if (set == default_set::c_api) return settings();
  if (set == default_set::command_line) return command_line_settings();
  settings s = server_settings();
  if (sequences_are_given) s.kv_unified = false;  // only the automatic number of slots shares
  return s;
}

[[nodiscard]] inline flash_attention read_flash(const kvbudget::detail::option_reader& in) {
  const config::json* const flash = in.find("flash_attn");
  if (flash == nullptr) return flash_attention::automatic;
  if (flash->is_boolean()) return flash->get<bool>() ? flash_attention::on : flash_attention::off;
  for (const std::string_view word : {"auto", "on", "off"}) {
    if (*flash == word) return static_cast<flash_attention>(kvbudget::detail::place_in("auto|on|off", word));
  }
  in.fail("flash_attn", *flash, flash->is_string() ? "unknown value" : "unusable value", "one of auto, on, off");
}

/// Settings, and whose defaults they rest on.
struct read_result {
  llama_cpp::settings settings;
  default_set defaults = default_set::server;
  std::vector<std::string> notes;
};

/// Throws usage_error for unknown options and values, and for options that contradict the question.
[[nodiscard]] inline read_result read_settings(const engine_question& q) {
  const kvbudget::detail::option_reader in(option_rows, q.options);
  read_result result;
  result.defaults = in.word("defaults", default_set::server);
  settings& s = result.settings;
  s = defaults_of(result.defaults, in.has("n_seq_max") || q.work);
  const auto count32 = [&](std::string_view name, std::uint32_t& to) {
    to = static_cast<std::uint32_t>(in.count(name).value_or(to));
  };
  count32("n_ctx", s.n_ctx);
  count32("n_batch", s.n_batch);
  count32("n_ubatch", s.n_ubatch);
  count32("n_seq_max", s.n_seq_max);
  count32("n_rs_seq", s.n_rs_seq);
  s.type_k = read_type(in, "type_k", q.types.k, "k-dtype", s.type_k);
  s.type_v = read_type(in, "type_v", q.types.v, "v-dtype", s.type_v);
  s.flash_attn = read_flash(in);
  s.kv_unified = in.boolean("kv_unified").value_or(s.kv_unified);
  s.swa_full = in.boolean("swa_full").value_or(s.swa_full);
  s.offload_kqv = in.boolean("offload_kqv").value_or(s.offload_kqv);
  s.load_mtp = in.boolean("load_mtp").value_or(s.load_mtp);
  s.ctx_type = in.word("ctx_type", s.ctx_type);
  s.n_gpu_layers = static_cast<std::int32_t>(in.integer("n_gpu_layers").value_or(s.n_gpu_layers));
  s.split = in.word("split_mode", s.split);
  s.main_gpu = static_cast<std::int32_t>(in.integer("main_gpu").value_or(s.main_gpu));
  read_placement(in, q, s);
  read_workload(in, q.work, s, result.notes);
  return result;
}

/// The settings as options, defaults included.
[[nodiscard]] inline config::json to_json(const settings& s) {
  config::json j = {{"n_ctx", s.n_ctx},           {"n_batch", s.n_batch},          {"n_ubatch", s.n_ubatch},
                    {"n_seq_max", s.n_seq_max},   {"type_k", type_name(s.type_k)}, {"type_v", type_name(s.type_v)},
                    {"kv_unified", s.kv_unified}, {"swa_full", s.swa_full},        {"offload_kqv", s.offload_kqv},
                    {"n_rs_seq", s.n_rs_seq},     {"load_mtp", s.load_mtp},        {"n_gpu_layers", s.n_gpu_layers},
                    {"main_gpu", s.main_gpu},     {"devices", s.devices}};
  constexpr const char* flash[] = {"auto", "on", "off"};
  constexpr const char* split[] = {"none", "layer", "row", "tensor"};
  j["flash_attn"] = flash[static_cast<std::size_t>(s.flash_attn)];
  j["split_mode"] = split[static_cast<std::size_t>(s.split)];
  j["ctx_type"] = s.ctx_type == context_type::mtp ? "mtp" : "default";
  return j;
}

}  // namespace kvbudget::detail::llama_cpp
