#include "collective/operation.h"

#include <fmt/core.h>

namespace cerar {

std::string_view name(OperationHeader::Kind kind) noexcept {
  switch (kind) {
    case OperationHeader::Kind::all_reduce_exact:
      return "all_reduce (exact)";
    case OperationHeader::Kind::all_reduce_naive:
      return "all_reduce (naive)";
    case OperationHeader::Kind::all_reduce_coded:
      return "all_reduce (coded)";
    case OperationHeader::Kind::all_reduce_piggyback:
      return "all_reduce (piggyback)";
    case OperationHeader::Kind::piggyback_scales:
      return "all_reduce (piggyback, agreeing on scales)";
    case OperationHeader::Kind::all_reduce_doubling:
      return "all_reduce (doubling)";
    case OperationHeader::Kind::barrier:
      return "barrier";
    case OperationHeader::Kind::pair_addresses:
      return "exchange of addresses for recursive doubling";
    case OperationHeader::Kind::all_gather:
      return "all_gather";
  }
  return "an unknown operation";
}

std::string to_string(const OperationHeader& header) {
  return fmt::format("operation {}, {} of {} values", header.sequence, name(header.kind), header.values);
}

std::string describe_difference(const OperationHeader& mine, std::int64_t my_rank, const OperationHeader& theirs,
                                std::int64_t their_rank) {
  if (theirs.magic != mine.magic) {
    return fmt::format("rank {} received from rank {} something that is no operation header: the stream is damaged",
                       my_rank, their_rank);
  }
  if (mine.sequence != theirs.sequence || mine.kind != theirs.kind || mine.values != theirs.values) {
    return fmt::format("ranks disagree on what to do: rank {} is in {}, rank {} in {}", my_rank, to_string(mine),
                       their_rank, to_string(theirs));
  }
  return fmt::format(
      "ranks disagree in {}: rank {} and rank {} differ in {}", to_string(mine), my_rank, their_rank,
      mine.code_hash != theirs.code_hash ? "the code they use" : "tensor lengths, slice size or slices in flight");
}

}  // namespace cerar
