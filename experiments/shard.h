#pragma once

#include "experiments/fashion_mnist.h"
#include "experiments/mlp.h"
#include "experiments/pixel_scale.h"

#include <cstdint>
#include <vector>

namespace cerar {

/// One worker's part of the training images and the order in which it draws them.
///
/// The images are shuffled once by the seed and cut into N parts of floor(count / N); the rest is left out. Each epoch
/// the worker shuffles its part anew by (seed, epoch, worker) and draws whole batches; what does not fill one waits for
/// another epoch. Nothing depends on the machine.
class Shard {
 public:
  /// Keeps a reference to `data`.
  /// @throws std::invalid_argument if the part holds less than one batch, or a number is out of its range
  Shard(const LabelledImages& data, std::int64_t worker, std::int64_t workers, std::int64_t batch, std::uint64_t seed);

  [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(order_.size()); }
  [[nodiscard]] std::int64_t steps_per_epoch() const noexcept { return size() / batch_; }

  /// Draws the next batch.
  /// @param images  becomes batch x pixels, as `scale` makes them
  /// @param classes  becomes batch numbers
  void next(const PixelScale& scale, Mlp<float>::Batch& images, std::vector<std::uint8_t>& classes);

 private:
  void begin_epoch();

  const LabelledImages& data_;
  std::int64_t worker_;
  std::int64_t workers_;
  std::int64_t batch_;
  std::uint64_t seed_;
  std::int64_t epoch_ = 0;
  std::int64_t drawn_ = 0;           // batches, in this epoch
  std::vector<std::int64_t> order_;  // numbers of images
};

/// @return share of the images that the network classifies correctly, in [0, 1]
[[nodiscard]] double accuracy(Mlp<float>& network, std::span<const float> parameters, const LabelledImages& data,
                              const PixelScale& scale);

}  // namespace cerar
