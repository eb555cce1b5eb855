// LibTorch exports ProcessGroupGloo, but its wheel lacks Gloo's own headers.
// ProcessGroupGloo.hpp names the types of this folder and uses only what is declared here;
// predgen defines none of it.
#pragma once
