#include "experiments/shard.h"

#include "experiments/random.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace cerar {
namespace {

// Streams of the seed; initialise() of the network uses stream 0.
constexpr std::uint64_t sharding_stream = 1;
constexpr std::uint64_t first_epoch_stream = 2;

}  // namespace

Shard::Shard(const LabelledImages& data, std::int64_t worker, std::int64_t workers, std::int64_t batch,
             std::uint64_t seed)
    : data_(data), worker_(worker), workers_(workers), batch_(batch), seed_(seed) {
  if (workers < 1 || worker < 0 || worker >= workers) {
    throw std::invalid_argument(fmt::format("shard: worker {} of {} workers does not exist", worker, workers));
  }
  const std::int64_t share = data.count() / workers;
  if (batch < 1) {
    throw std::invalid_argument(fmt::format("batch is {}, expected at least 1 image per worker and step", batch));
  }
  if (batch > share) {
    throw std::invalid_argument(fmt::format(
        "batch is {} images, but each of {} workers has only {} of the {} training images; choose a batch of "
        "at most {} or fewer workers",
        batch, workers, share, data.count(), share));
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(data.count()));
  std::iota(all.begin(), all.end(), 0);
  PortableRandom(seed, sharding_stream).shuffle(all);
  order_.assign(all.begin() + worker * share, all.begin() + (worker + 1) * share);
  begin_epoch();
}

void Shard::begin_epoch() {
  const std::uint64_t stream = first_epoch_stream + static_cast<std::uint64_t>(epoch_ * workers_ + worker_);
  PortableRandom(seed_, stream).shuffle(order_);
  drawn_ = 0;
}

void Shard::next(const PixelScale& scale, Mlp<float>::Batch& images, std::vector<std::uint8_t>& classes) {
  if (drawn_ == steps_per_epoch()) {
    ++epoch_;
    begin_epoch();
  }
  const auto first = order_.begin() + drawn_ * batch_;
  const std::vector<std::int64_t> numbers(first, first + batch_);
  ++drawn_;
  scale.apply(data_, numbers, images);
  classes.resize(numbers.size());
  std::transform(numbers.begin(), numbers.end(), classes.begin(),
                 [&](std::int64_t number) { return data_.classes[static_cast<std::size_t>(number)]; });
}

double accuracy(Mlp<float>& network, std::span<const float> parameters, const LabelledImages& data,
                const PixelScale& scale) {
  constexpr std::int64_t at_once = 500;
  std::int64_t correct = 0;
  Mlp<float>::Batch images;
  for (std::int64_t first = 0; first < data.count(); first += at_once) {
    const std::int64_t count = std::min(at_once, data.count() - first);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), first);
    scale.apply(data, numbers, images);
    correct += network.count_correct(parameters, images,
                                     std::span(data.classes).subspan(static_cast<std::size_t>(first), numbers.size()));
  }
  return static_cast<double>(correct) / static_cast<double>(data.count());
}

}  // namespace cerar
