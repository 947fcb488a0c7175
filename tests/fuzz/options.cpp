// Any JSON as options of an engine: either an answer, or an error that names the option.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <kvbudget/config/transformers.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvbudget;
  static const config::document d = config::parse_document(
      R"({"model_type": "gemma2", "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 16, "sliding_window": 8, "dtype": "bfloat16"})",
      "config.json");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const config::json options = config::parse_document(text, "options").root;
    const config::evaluation e = transformers::evaluate(d, options);
    if (e.refusal.empty() && e.layers.size() != 3) __builtin_trap();
  } catch (const input_error& e) {
    if (e.problem().empty()) __builtin_trap();
  } catch (const size_error&) {}
  return 0;
}
