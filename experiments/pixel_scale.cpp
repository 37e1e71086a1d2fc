#include "experiments/pixel_scale.h"

#include <cmath>

namespace cerar {

PixelScale::PixelScale(const LabelledImages& training) : mean_(training.pixels) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(training.pixels));
  std::int64_t sum_of_squares = 0;
  for (std::int64_t image = 0; image < training.count(); ++image) {
    const std::uint8_t* bytes = training.images.data() + image * training.pixels;
    for (std::size_t pixel = 0; pixel < sums.size(); ++pixel) {
      sums[pixel] += bytes[pixel];
      sum_of_squares += bytes[pixel] * bytes[pixel];
    }
  }
  const auto count = static_cast<double>(training.count());
  double variance_sum = static_cast<double>(sum_of_squares) / count;
  for (std::size_t pixel = 0; pixel < sums.size(); ++pixel) {
    const double mean = static_cast<double>(sums[pixel]) / count;
    mean_(static_cast<Eigen::Index>(pixel)) = static_cast<float>(mean);
    variance_sum -= mean * mean;
  }
  // Images that are all the same have nothing to scale.
  factor_ =
      variance_sum > 0 ? static_cast<float>(std::sqrt(static_cast<double>(training.pixels) / variance_sum)) : 1.0F;
}

void PixelScale::apply(const LabelledImages& data, const std::vector<std::int64_t>& numbers,
                       Mlp<float>::Batch& to) const {
  to.resize(static_cast<Eigen::Index>(numbers.size()), data.pixels);
  using Bytes = Eigen::Map<const Eigen::Matrix<std::uint8_t, 1, Eigen::Dynamic>>;
  for (Eigen::Index row = 0; row < to.rows(); ++row) {
    const std::int64_t number = numbers[static_cast<std::size_t>(row)];
    const Bytes bytes(data.images.data() + number * data.pixels, data.pixels);
    to.row(row) = (bytes.cast<float>() - mean_) * factor_;
  }
}

}  // namespace cerar
