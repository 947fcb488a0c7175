// Runs a fuzz target without a fuzzer: over each file of a corpus, and over a few hundred variations of it. These are
// the same in every run, so that a failure can be repeated.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string variation(std::string text, std::mt19937& random) {
  for (auto changes = 1 + random() % 3; changes != 0 && !text.empty(); --changes) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: text.resize(at); break;
      case 1: text.erase(at, 1 + random() % 8); break;
      case 2: text.insert(at, text.substr(random() % text.size(), 1 + random() % 8)); break;
      default: text[at] = static_cast<char>(random() % 256);
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int variations = 200;
  std::set<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.insert(entry.path());
    }
  }
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(stream), {});
    std::printf("%s\n", file.string().c_str());
    std::fflush(stdout);
    run(input);
    std::mt19937 random(1);
    for (int n = 0; n < variations; ++n) run(variation(input, random));
  }
  std::printf("%zu files\n", files.size());
  return files.empty() ? 1 : 0;
}
