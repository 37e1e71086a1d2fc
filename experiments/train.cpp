#include "coding/code.h"
