#include "collective/communicator.h"
