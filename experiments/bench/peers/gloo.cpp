// Gloo's all-reduces, measured as `cerar bench` measures ours; under `cerar launch` or `cerar netlab`, which set RANK
// and WORLD_SIZE:  cerar launch -n 4 -- bench_gloo --store /tmp/an-empty-folder
#include "experiments/bench/peers/driver.h"

#include <algorithm>
#include <cstdlib>
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <memory>

namespace {

std::int64_t from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    throw std::runtime_error(fmt::format("the environment has no {}; start this with `cerar launch`", name));
  }
  return std::atoll(text);
}

/// Prepared for one vector; run again and again.
using Prepared = std::function<void()>;

template <class Algorithm>
Prepared prepare(const std::shared_ptr<gloo::Context>& context, std::vector<float>& values) {
  const auto algorithm =
      std::make_shared<Algorithm>(context, std::vector<float*>{values.data()}, static_cast<int>(values.size()));
  return [algorithm] { algorithm->run(); };
}

Prepared prepare_options(const std::shared_ptr<gloo::Context>& context, std::vector<float>& values,
                         gloo::AllreduceOptions::Algorithm algorithm) {
  const auto options = std::make_shared<gloo::AllreduceOptions>(context);
  options->setAlgorithm(algorithm);
  options->setOutput(values.data(), values.size());
  options->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
  return [options] { gloo::allreduce(*options); };
}

Prepared prepare(const std::string& name, const std::shared_ptr<gloo::Context>& context, std::vector<float>& values) {
  using Options = gloo::AllreduceOptions;
  if (name == "ring") {
    return prepare<gloo::AllreduceRing<float>>(context, values);
  }
  if (name == "ring-chunked") {
    return prepare<gloo::AllreduceRingChunked<float>>(context, values);
  }
  if (name == "halving-doubling") {
    return prepare<gloo::AllreduceHalvingDoubling<float>>(context, values);
  }
  if (name == "allreduce-ring") {
    return prepare_options(context, values, Options::Algorithm::RING);
  }
  if (name == "allreduce-bcube") {
    return prepare_options(context, values, Options::Algorithm::BCUBE);
  }
  throw std::runtime_error(fmt::format(
      "Gloo has no '{}' here; choose from ring, ring-chunked, halving-doubling, allreduce-ring, allreduce-bcube",
      name));
}

int run(int argc, char** argv) {
  CLI::App app("Times Gloo's all-reduces");
  cerar::bench::PeerOptions options;
  std::string store_folder;
  std::string interface;
  std::vector<std::string> algorithms = {"allreduce-ring", "ring-chunked", "halving-doubling"};
  options.add_to(app);
  app.add_option("--store", store_folder, "Folder in which the ranks meet; empty at the start")->required();
  app.add_option("--interface", interface, "Network interface (default: the loopback address)");
  app.add_option("--algorithms", algorithms, "Of Gloo's")->delimiter(',');
  CLI11_PARSE(app, argc, argv);

  const std::int64_t rank = from_environment("RANK");
  const std::int64_t size = from_environment("WORLD_SIZE");
  gloo::transport::tcp::attr where;
  if (interface.empty()) {
    where.hostname = "127.0.0.1";
  } else {
    where.iface = interface;
  }
  auto device = gloo::transport::tcp::CreateDevice(where);
  gloo::rendezvous::FileStore store(store_folder);
  const auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(rank), static_cast<int>(size));
  context->connectFullMesh(store, device);

  std::int64_t wrong = 0;
  for (const std::string& name : algorithms) {
    const std::vector<float>* prepared_for = nullptr;
    std::size_t prepared_values = 0;
    Prepared prepared;
    wrong +=
        measure({
                    .name = "gloo-" + name,
                    .rank = rank,
                    .size = size,
                    .barrier =
                        [&] {
                          gloo::BarrierOptions barrier(context);
                          gloo::barrier(barrier);
                        },
                    .largest =
                        [&](double mine) {
                          gloo::AllreduceOptions most(context);
                          most.setOutput(&mine, 1);
                          most.setReduceFunction(
                              static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::max<double>));
                          gloo::allreduce(most);
                          return mine;
                        },
                    .sum =
                        [&](std::vector<float>& values) {
                          if (&values != prepared_for || values.size() != prepared_values) {
                            prepared = prepare(name, context, values);
                            prepared_for = &values;
                            prepared_values = values.size();
                          }
                          prepared();
                        },
                },
                options);
  }
  return wrong == 0 ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_gloo: {}\n", error.what());
    return 1;
  }
}
