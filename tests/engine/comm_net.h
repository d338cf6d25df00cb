/* comm_net.h: a transport inside one process, for tests: ranks are communicators with threads of their own.
 *
 * Messages wait at their receiver until a receive fits. Those of up to EAGER bytes are copied when they are sent,
 * others when they are received, and their send is over only then: as real transports do it. A rank may be made to die:
 * its transport does nothing any more.
 */
#ifndef TESTS_COMM_NET_H
#define TESTS_COMM_NET_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/comm/comm.h"
#include "engine/device.h"
#include "tests/check.h"

enum { NET_RANKS = 8, NET_EAGER = 4096 };

typedef struct net_message {
    struct net_message *next;
    int from, tag;
    size_t bytes;
    const char *data;  /* the sender's memory */
    neap_transfer *of; /* the sender's transfer; NULL: a copy */
    char copy[];
} net_message;

typedef struct net_post { /* a receive that waits */
    struct net_post *next;
    neap_transfer *transfer;
} net_post;

typedef struct net_end {
    struct net *net;
    int rank;
    atomic_long sends, sent; /* messages, and their bytes */
    atomic_bool dead;
    net_message *messages, **last_message;
    net_post *posts, **last_post;
} net_end;

typedef struct net {
    pthread_mutex_t mutex;
    int size;
    atomic_bool shut; /* opening waits while it is */
    net_end ends[NET_RANKS];
} net;

static int net_open(void *where, void **link, int *rank, int *size) {
    net_end *end = where;
    while (end->net->shut)
        sched_yield();
    *link = end;
    *rank = end->rank;
    *size = end->net->size;
    return 0;
}

static void net_close(void *link) {
    (void)link;
}

static bool net_fits(const net_message *m, const neap_transfer *t) {
    return m->tag == t->tag && (t->rank == NEAP_RANK_ANY || t->rank == m->from);
}

/* With the mutex held: brings together what fits. A transfer's request is 1 once its bytes have been copied. */
static void net_match(net_end *end) {
    for (net_post **p = &end->posts; *p;) {
        neap_transfer *t = (*p)->transfer;
        net_message **m = &end->messages;
        while (*m && !net_fits(*m, t))
            m = &(*m)->next;
        if (!*m) {
            p = &(*p)->next;
            continue;
        }
        net_message *taken = *m;
        net_post *post = *p;
        if (!(*m = taken->next))
            end->last_message = m;
        if (!(*p = post->next))
            end->last_post = p;
        t->bytes = taken->bytes < t->bytes ? taken->bytes : t->bytes;
        memcpy(t->data, taken->of ? taken->data : taken->copy, t->bytes);
        t->rank = taken->from;
        t->request = 1;
        if (taken->of)
            taken->of->request = 1;
        free(taken);
        free(post);
    }
}

static int net_send(void *link, neap_transfer *t) {
    net_end *end = link, *to = &end->net->ends[t->rank];
    bool eager = t->bytes <= NET_EAGER;
    net_message *m = malloc(sizeof *m + (eager ? t->bytes : 0));
    *m = (net_message){.from = end->rank, .tag = t->tag, .bytes = t->bytes, .data = t->data, .of = eager ? NULL : t};
    if (eager)
        memcpy(m->copy, t->data, t->bytes);
    end->sends++;
    end->sent += (long)t->bytes;
    pthread_mutex_lock(&end->net->mutex);
    t->state = 0;
    t->request = eager;
    if (end->dead) {
        free(m);
    } else {
        *to->last_message = m;
        to->last_message = &m->next;
    }
    pthread_mutex_unlock(&end->net->mutex);
    return 0;
}

static int net_receive(void *link, neap_transfer *t) {
    net_end *end = link;
    net_post *post = malloc(sizeof *post);
    *post = (net_post){.transfer = t};
    pthread_mutex_lock(&end->net->mutex);
    t->state = 0;
    t->request = 0;
    *end->last_post = post;
    end->last_post = &post->next;
    pthread_mutex_unlock(&end->net->mutex);
    return 0;
}

static int net_test(void *link, int n, neap_transfer *const *transfers) {
    net_end *end = link;
    pthread_mutex_lock(&end->net->mutex);
    if (!end->dead) {
        net_match(end);
        for (int k = 0; k < n; k++)
            transfers[k]->state = transfers[k]->request == 1;
    }
    pthread_mutex_unlock(&end->net->mutex);
    return 0;
}

static int net_cancel(void *link, neap_transfer *t) {
    net_end *end = link;
    pthread_mutex_lock(&end->net->mutex);
    for (net_post **p = &end->posts; *p; p = &(*p)->next) {
        net_post *post = *p;
        if (post->transfer != t)
            continue;
        if (!(*p = post->next))
            end->last_post = p;
        free(post);
        break;
    }
    for (int k = 0; k < end->net->size; k++) {
        net_end *to = &end->net->ends[k];
        for (net_message **m = &to->messages; *m; m = &(*m)->next) {
            net_message *message = *m;
            if (message->of != t)
                continue;
            if (!(*m = message->next))
                to->last_message = m;
            free(message);
            break;
        }
    }
    t->state = 1;
    pthread_mutex_unlock(&end->net->mutex);
    return 0;
}

static const neap_transport net_transport = {.abi = NEAP_DEVICE_ABI,
                                             .name = "net",
                                             .tags = 16,
                                             .open = net_open,
                                             .close = net_close,
                                             .send = net_send,
                                             .receive = net_receive,
                                             .test = net_test,
                                             .cancel = net_cancel};

static engine_comm_warn net_warn; /* of all communicators */

/* Communicators of `size` ranks. */
static inline void net_start(net *n, int size, engine_comm **comms, double timeout, double silence, bool shut) {
    *n = (net){.size = size, .shut = shut};
    pthread_mutex_init(&n->mutex, NULL);
    for (int k = 0; k < size; k++) {
        net_end *end = &n->ends[k];
        end->net = n;
        end->rank = k;
        end->last_message = &end->messages;
        end->last_post = &end->posts;
    }
    for (int k = 0; k < size; k++) {
        engine_comm_config config = {.transport = &net_transport,
                                     .where = &n->ends[k],
                                     .rank = k,
                                     .size = size,
                                     .devices = k + 1,
                                     .warn = net_warn,
                                     .timeout = (int64_t)(timeout * 1e9),
                                     .silence = (int64_t)(silence * 1e9)};
        CHECK_EQ(engine_comm_new(&config, &comms[k]), 0);
    }
}

/* Ends them all, rank k with codes[k] (NULL: 0). */
static inline void net_stop(net *n, engine_comm **comms, const int *codes, const char *why) {
    for (int k = 0; k < n->size; k++)
        engine_comm_end(comms[k], codes ? codes[k] : 0, why, NULL);
    for (int k = 0; k < n->size; k++)
        engine_comm_free(comms[k]);
    for (int k = 0; k < n->size; k++) {
        net_end *end = &n->ends[k];
        for (net_message *next; end->messages; end->messages = next) {
            next = end->messages->next;
            free(end->messages);
        }
        for (net_post *next; end->posts; end->posts = next) {
            next = end->posts->next;
            free(end->posts);
        }
    }
    pthread_mutex_destroy(&n->mutex);
}

/* Waits until a communicator is open or broken. */
static inline int net_met(engine_comm *comm) {
    neap_waker *waker;
    CHECK_EQ(neap_waker_new(&waker), 0);
    int status;
    while ((status = engine_comm_poll(comm, waker)) == NEAP_PENDING)
        neap_waker_sleep(waker, 1000);
    neap_waker_free(waker);
    return status;
}

#endif
