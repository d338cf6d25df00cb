/* link.h: how code gets the functions of the rows' bitcode that it calls. */
#ifndef LAZY_NATIVE_PLUGIN_LINK_H
#define LAZY_NATIVE_PLUGIN_LINK_H

#include <stdbool.h>

#include <llvm-c/Core.h>

#include "lazy/native/plugin/bitcode.h"

/* The dtype that the name of a function ends with; NEAP_DTYPE_COUNT: none. */
int ir_dtype_of(const char *function);

/* Is the function, "row_exp_f32", one of the row "exp_f32"? */
bool ir_is_of(const char *function, const char *row);

/* Is it a function of a row that somebody calls? */
typedef bool (*ir_needs)(const void *who, const char *function);

/* Links the functions of a module of rows that `needs` names, with what they call. The others are not read: those are
 * what a module is made of, and reading them would take longer than all the rest. false: it is damaged. */
bool ir_link(LLVMModuleRef module, const native_module *rows, ir_needs needs, const void *who);

#endif
