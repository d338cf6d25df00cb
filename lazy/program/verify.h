/* verify.h: checks that a program is what it should be (verify.c). */
#ifndef LAZY_VERIFY_H
#define LAZY_VERIFY_H

#include "lazy/program/program.h"

/* NEAP_E_INTERNAL with `pass`, the node and what is wrong. Uses the marks and numbers of nodes. */
int program_verify(const neap_program *program, const char *pass);

/* For the ends of passes: in debug builds only. */
#ifdef NDEBUG
#define LAZY_VERIFY(program, pass) 0
#else
#define LAZY_VERIFY(program, pass) program_verify(program, pass)
#endif

#endif
