#pragma once

#include "collective/communicator.h"
#include "collective/deadline.h"
#include "collective/socket.h"

#include <cstdint>
#include <string>

namespace cerar {

/// What each side tells the other when a connection opens; both check it (docs/runtime.md, "Handshake").
struct Hello {
  std::int64_t rank = 0;
  std::int64_t size = 0;
  std::uint64_t code_hash = 0;  ///< 0 without a code
  std::uint64_t data_port = 0;  ///< where the sender accepts its predecessor; 0 on links between neighbours
};

/// The side that connected and the side that accepted prove the secret under different labels, so that neither can be
/// answered with its own words.
enum class HandshakeSide : std::uint8_t { connector = 1, acceptor = 2 };

/// Whoever is at the other end is not of this job: an acceptor drops it and goes on accepting.
class StrangerError : public RingError {
 public:
  using RingError::RingError;
};

/// Exchanges greetings (magic, protocol version, nonce), then hellos, each authenticated by a keyed BLAKE2b hash over
/// both nonces with the job's secret as key. The secret itself never travels.
/// @return the peer's hello, authenticated
/// @throws StrangerError if the peer does not speak the protocol, does not hold the secret, closes, or is too slow;
///   RingError if it speaks another protocol version
[[nodiscard]] Hello exchange_hellos(const Socket& socket, HandshakeSide side, const Hello& mine,
                                    const std::string& secret, const Deadline& deadline);

/// @throws RingError with both ranks and both values, if the world sizes or the codes differ or the rank is outside [0,
/// N)
void require_same_job(const Hello& mine, const Hello& theirs);

}  // namespace cerar
