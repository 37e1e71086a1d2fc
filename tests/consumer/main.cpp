#include <cerar/coding/code_file.h>
#include <cerar/collective/communicator.h>
#include <cstdio>
#include <exception>
#include <vector>

int main(int argc, char** argv) try {
  cerar::CommunicatorOptions options = cerar::options_from_environment().value_or(cerar::CommunicatorOptions{});
  if (argc > 1) options.code = cerar::read_code_file(argv[1]);
  cerar::Communicator ring(options);
  std::vector<float> gradient(1000, static_cast<float>(ring.rank() + 1));
  ring.all_reduce(gradient);  // coded if a code file was given, else exact
  std::printf("rank %d of %d: %.3f\n", static_cast<int>(ring.rank()), static_cast<int>(ring.size()),
              static_cast<double>(gradient[0]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
