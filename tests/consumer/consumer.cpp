#include <fmt/format.h>

#include <kvbudget/kvbudget.hpp>

int main() {
  using namespace kvbudget::config;
  const document config{json::parse(R"({"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
                                        "num_key_value_heads": 8, "hidden_size": 4096})"),
                        "config.json"};
  const json settings = {{"cache", "dynamic"}, {"dtype", "bfloat16"}, {"batch", 1}, {"seq_len", 4096}};
  fmt::print("{}\n", find_engine("transformers").evaluate(config, nullptr, settings).figures["total_bytes"].dump());
}
