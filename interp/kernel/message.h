/* message.h: messages of Jupyter's protocol as lists of parts, their signatures, and texts that are built.
 *
 *      identity … identity  <IDS|MSG>  signature  header  parent header  metadata  content  buffer … buffer
 *      `identities` of them  ─┘                   └─ `identities` + 2 …
 */
#ifndef INTERP_KERNEL_MESSAGE_H
#define INTERP_KERNEL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

/* What there is no memory for is left out, and `lost` set. */
typedef struct kernel_text {
    char *at;
    size_t used, room;
    bool lost;
} kernel_text;

void kernel_text_add(kernel_text *text, const char *bytes, size_t count);
void kernel_text_put(kernel_text *text, const char *string);
/* As the inside of a JSON string: what is not UTF-8 becomes U+FFFD. */
void kernel_text_quote(kernel_text *text, const char *bytes, size_t count);

/* In UTF-8: what is not becomes U+FFFD. */
void kernel_text_clean(kernel_text *text, const char *bytes, size_t count);

/* Whether member `name` of a JSON object, at its top level, is the string `value`, both plain words. */
bool kernel_has_member(const char *json, size_t bytes, const char *name, const char *value);

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

typedef struct kernel_part {
    char *at; /* OWNED, with a NUL behind its bytes */
    size_t bytes;
} kernel_part;

typedef struct kernel_message {
    struct kernel_message *next; /* in a queue */
    int channel;                 /* KERNEL_… of channels.h */
    int identities;              /* in front of the delimiter */
    int count, room;
    size_t bytes; /* of all parts */
    kernel_part *parts;
} kernel_message;

enum { KERNEL_HEADER, KERNEL_PARENT, KERNEL_METADATA, KERNEL_CONTENT, KERNEL_SIGNED };

kernel_message *kernel_message_new(int channel); /* OWNED; NULL: no memory */
void kernel_message_free(kernel_message *message);
/* Appends a copy. False: no memory. */
bool kernel_message_add(kernel_message *message, const void *bytes, size_t count);
/* One of the signed parts of a message that kernel_message_check has passed, or that was built. */
const kernel_part *kernel_message_part(const kernel_message *message, int which);

/* The key of all messages; empty: they are not signed. False: there is no memory for it. */
bool kernel_key_set(const char *key, size_t bytes);
/* Finds the delimiter, sets `identities`, compares the signature. NULL: the message is sound; else what is wrong. */
const char *kernel_message_check(kernel_message *message);
/* Appends delimiter, signature, and the four parts that are signed. */
bool kernel_message_build(kernel_message *message, const kernel_part parts[KERNEL_SIGNED]);

#endif
