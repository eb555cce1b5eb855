#include "core/progress.h"
