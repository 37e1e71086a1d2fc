#pragma once

// The same source compiled for several instruction sets, chosen when the program starts. Sanitizers run before the
// choice is made and cannot instrument it.
#if defined(__x86_64__) && !defined(CERAR_SANITIZED)
#define CERAR_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CERAR_VECTORISED
#endif
