// The command line of kvbudget: what was said, as text, and the question that it makes.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <kvbudget/input/located_config.hpp>
#include <kvbudget/plan/question.hpp>

namespace kvbudget {
struct named_plan;
}  // namespace kvbudget

/// Exit status, by the programs' contract.
enum status { answered = 0, does_not_fit = 1, wrong_usage = 2, not_understood = 3, engine_refuses = 4 };

/// Options as the user wrote them.
struct command {
  std::vector<std::string> configs;
  std::string engine = "none";
  std::vector<std::string> set;
  std::string kv_dtype, k_dtype, v_dtype;
  std::string prompt, generate, sequences, lengths;
  std::string long_prompt, most_sequences;
  std::string tensor_parallel = "1", pipeline_parallel = "1", stage_layers, context_parallel = "1", data_parallel = "1";
  bool attention_data_parallel = false;
  std::string host_layers = "0", host_memory;
  std::string device, weights, overhead, utilization = "1";
  std::string parameters, weight_bits;
  std::vector<std::string> co_resident, observed;
  std::string shared_prefix, transfer_bandwidth, memory_bandwidth;
  std::string format = "table";
};

[[noreturn]] void fail_usage(std::string option, std::string value, std::string problem, std::string expected);

/// A number of things: digits, nothing else. Throws usage_error.
std::uint64_t count_of(const std::string& text, const std::string& option);

/// "a,b,c" in parts.
std::vector<std::string> split(const std::string& text);

/// Every option of a plan, also for sweep and compare.
void add_plan_options(CLI::App& app, command& c);

/// One option of a plan as the user would have written it, by its name without dashes; an engine's own option where a
/// plan has none of this name. Throws usage_error where it was given already.
void set_option(command& c, const std::string& name, const std::string& value);

/// Throws usage_error, and config_error for files of weights.
kvbudget::plan_question question_of(const command& c);

/// The answer for one CONFIG: every command makes its plans here. Throws what make_plan and locate_config throw.
kvbudget::plan_report answer(const kvbudget::located_config& config, const kvbudget::plan_question& question);

/// Throws usage_error unless `format` is one of `known`: "table, json, csv".
void check_format(const std::string& format, const std::string& known);

/// What several plans mean for the shell: the worst of them counts, and standard error says why the first of its kind
/// could not be made.
status status_of(const std::vector<const kvbudget::named_plan*>& plans);

/// What a finished plan means for the shell.
status status_of(const kvbudget::plan_report& report);

/// Parses the arguments after the name of a command. Returns true when all was said already (--help, --version).
bool parse(CLI::App& app, int argc, char** argv);

/// The commands. `argv[0]` is the name of the program or of the command.
int plan(int argc, char** argv);
int sweep(int argc, char** argv);
int compare(int argc, char** argv);
int models();
int engines(const std::string& name);
