/* message.c: see message.h. */
#include "interp/kernel/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/kernel/libs.h"

enum { SIGNATURE_BYTES = 32, MOST_IDENTITIES = 16 };

static const char delimiter[] = "<IDS|MSG>";

static unsigned char *key;
static size_t key_bytes;

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

void kernel_text_add(kernel_text *text, const char *bytes, size_t count) {
    if (text->used + count + 1 > text->room) {
        size_t room = 2 * text->room + count + 64;
        char *at = realloc(text->at, room);
        if (!at) {
            text->lost = true;
            return;
        }
        text->at = at;
        text->room = room;
    }
    memcpy(text->at + text->used, bytes, count);
    text->used += count;
    text->at[text->used] = '\0';
}

void kernel_text_put(kernel_text *text, const char *string) {
    kernel_text_add(text, string, strlen(string));
}

/* The bytes of the UTF-8 character at the beginning; 0: there is none. */
static size_t character_bytes(const unsigned char *at, size_t left) {
    unsigned char lead = at[0];
    size_t count = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (count == 0 || count > left)
        return 0;
    for (size_t k = 1; k < count; k++)
        if ((at[k] & 0xC0) != 0x80)
            return 0;
    bool overlong = (lead == 0xE0 && at[1] < 0xA0) || (lead == 0xF0 && at[1] < 0x90);
    bool outside = (lead == 0xED && at[1] > 0x9F) || (lead == 0xF4 && at[1] > 0x8F);
    return overlong || outside ? 0 : count;
}

void kernel_text_quote(kernel_text *text, const char *bytes, size_t count) {
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t k = 0; k < count;) {
        size_t plain = k;
        size_t length = 0;
        while (plain < count && at[plain] >= 0x20 && at[plain] != '"' && at[plain] != '\\' &&
               (length = character_bytes(at + plain, count - plain)) > 0)
            plain += length;
        kernel_text_add(text, bytes + k, plain - k);
        if ((k = plain) == count)
            return;
        char escape[8];
        if (at[k] >= 0x80)
            snprintf(escape, sizeof escape, "\\ufffd");
        else
            snprintf(escape, sizeof escape, "\\u%04x", at[k]);
        kernel_text_put(text, escape);
        k++;
    }
}

void kernel_text_clean(kernel_text *text, const char *bytes, size_t count) {
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t k = 0; k < count;) {
        size_t sound = k, length;
        while (sound < count && (length = character_bytes(at + sound, count - sound)) > 0)
            sound += length;
        kernel_text_add(text, bytes + k, sound - k);
        if ((k = sound) == count)
            return;
        kernel_text_put(text, "\xEF\xBF\xBD");
        k++;
    }
}

/* The byte behind the JSON string that begins at `k`. */
static size_t string_end(const char *json, size_t bytes, size_t k) {
    for (k++; k < bytes && json[k] != '"'; k++)
        if (json[k] == '\\')
            k++;
    return k < bytes ? k + 1 : bytes;
}

static size_t skip_blanks(const char *json, size_t bytes, size_t k) {
    while (k < bytes && (json[k] == ' ' || json[k] == '\t' || json[k] == '\r' || json[k] == '\n'))
        k++;
    return k;
}

static bool is_string(const char *json, size_t from, size_t to, const char *word) {
    size_t length = strlen(word);
    return to - from == length + 2 && json[from] == '"' && memcmp(json + from + 1, word, length) == 0;
}

bool kernel_has_member(const char *json, size_t bytes, const char *name, const char *value) {
    int depth = 0;
    for (size_t k = 0; k < bytes;) {
        if (json[k] != '"') {
            depth += (json[k] == '{' || json[k] == '[') - (json[k] == '}' || json[k] == ']');
            k++;
            continue;
        }
        size_t end = string_end(json, bytes, k), colon = skip_blanks(json, bytes, end);
        if (depth == 1 && colon < bytes && json[colon] == ':' && is_string(json, k, end, name)) {
            size_t from = skip_blanks(json, bytes, colon + 1);
            return from < bytes && json[from] == '"' && is_string(json, from, string_end(json, bytes, from), value);
        }
        k = end;
    }
    return false;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

kernel_message *kernel_message_new(int channel) {
    kernel_message *made = calloc(1, sizeof *made);
    if (made)
        made->channel = channel;
    return made;
}

void kernel_message_free(kernel_message *message) {
    if (!message)
        return;
    for (int k = 0; k < message->count; k++)
        free(message->parts[k].at);
    free(message->parts);
    free(message);
}

bool kernel_message_add(kernel_message *message, const void *bytes, size_t count) {
    if (message->count == message->room) {
        int room = 2 * message->room + 8;
        kernel_part *parts = realloc(message->parts, (size_t)room * sizeof *parts);
        if (!parts)
            return false;
        message->parts = parts;
        message->room = room;
    }
    char *copy = malloc(count + 1);
    if (!copy)
        return false;
    if (count > 0)
        memcpy(copy, bytes, count);
    copy[count] = '\0';
    message->parts[message->count++] = (kernel_part){copy, count};
    message->bytes += count;
    return true;
}

const kernel_part *kernel_message_part(const kernel_message *message, int which) {
    return &message->parts[message->identities + 2 + which];
}

/* ---- Signatures -------------------------------------------------------------------------------------------------- */

bool kernel_key_set(const char *text, size_t bytes) {
    free(key);
    key = bytes > 0 ? malloc(bytes) : NULL;
    key_bytes = key ? bytes : 0;
    if (key)
        memcpy(key, text, bytes);
    return key_bytes == bytes;
}

/* The signature of the four parts, in hexadecimal digits; empty without a key. False: no memory. */
static bool sign(const kernel_part parts[KERNEL_SIGNED], char out[2 * SIGNATURE_BYTES + 1]) {
    unsigned char digest[SIGNATURE_BYTES];
    out[0] = '\0';
    if (!key)
        return true;
    void *state = aligned_alloc(64, (kernel_lib.crypto_auth_hmacsha256_statebytes() + 63) / 64 * 64);
    if (!state)
        return false;
    kernel_lib.crypto_auth_hmacsha256_init(state, key, key_bytes);
    for (int k = 0; k < KERNEL_SIGNED; k++)
        kernel_lib.crypto_auth_hmacsha256_update(state, (const unsigned char *)parts[k].at, parts[k].bytes);
    kernel_lib.crypto_auth_hmacsha256_final(state, digest);
    free(state);
    for (int k = 0; k < SIGNATURE_BYTES; k++)
        snprintf(out + 2 * k, 3, "%02x", digest[k]);
    return true;
}

const char *kernel_message_check(kernel_message *message) {
    char signature[2 * SIGNATURE_BYTES + 1];
    int at = 0;
    while (at < message->count && (message->parts[at].bytes != sizeof delimiter - 1 ||
                                   memcmp(message->parts[at].at, delimiter, sizeof delimiter - 1) != 0))
        at++;
    if (at == message->count)
        return "a message without the delimiter <IDS|MSG>";
    if (at > MOST_IDENTITIES)
        return "a message with too many identities";
    if (message->count < at + 2 + KERNEL_SIGNED)
        return "a message with too few parts";
    message->identities = at;
    const kernel_part *given = &message->parts[at + 1];
    if (!sign(given + 1, signature))
        return "no memory for a signature";
    size_t length = strlen(signature);
    if (given->bytes != length || (length > 0 && kernel_lib.sodium_memcmp(given->at, signature, length) != 0))
        return "a message whose signature is wrong: its sender has another key";
    return NULL;
}

bool kernel_message_build(kernel_message *message, const kernel_part parts[KERNEL_SIGNED]) {
    char signature[2 * SIGNATURE_BYTES + 1];
    message->identities = message->count;
    bool good = sign(parts, signature) && kernel_message_add(message, delimiter, sizeof delimiter - 1) &&
                kernel_message_add(message, signature, strlen(signature));
    for (int k = 0; good && k < KERNEL_SIGNED; k++)
        good = kernel_message_add(message, parts[k].at, parts[k].bytes);
    return good;
}
