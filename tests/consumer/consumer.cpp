#include <fmt/format.h>

#include <kvbudget/kvbudget.hpp>

int main() {
  const kvbudget::located_config config = kvbudget::parse_config(R"({"model_type": "llama", "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096})");
  kvbudget::plan_question question;
  question.engine = "transformers";
  question.options = {{"cache", "dynamic"}, {"dtype", "bfloat16"}};
  question.work = kvbudget::workload{4096, 0, 1, {}};
  fmt::print("{}\n", kvbudget::make_plan(config, question).answer.total_bytes);
}
