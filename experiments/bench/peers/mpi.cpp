// Open MPI's MPI_Allreduce, measured as `cerar bench` measures ours; which algorithm it takes is chosen from outside:
//   mpirun -np 4 --mca btl tcp,self --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 4
//   bench_mpi
#include "experiments/bench/peers/driver.h"

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  CLI::App app("Times Open MPI's all-reduce");
  cerar::bench::PeerOptions options;
  std::string name = "open-mpi";
  options.add_to(app);
  app.add_option("--name", name, "What to call the algorithm in the output");
  CLI11_PARSE(app, argc, argv);

  const cerar::bench::Peer peer{
      .name = name,
      .rank = rank,
      .size = size,
      .barrier = [] { MPI_Barrier(MPI_COMM_WORLD); },
      .largest =
          [](double mine) {
            double most = 0;
            MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            return most;
          },
      .sum =
          [](std::vector<float>& values) {
            MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                          MPI_COMM_WORLD);
          },
  };
  const std::int64_t wrong = measure(peer, options);
  MPI_Finalize();
  return wrong == 0 ? 0 : 2;
}
